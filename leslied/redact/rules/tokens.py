"""Tokens that begin with a prefix of their vendor.

Lengths are wider than those that vendors issue today, but a token must be long enough
that no word of a program looks like it.
"""

from __future__ import annotations

import re

from leslied.redact.rules._rule import UUID, WORD_START, Rule

_ANY = "[A-Za-z0-9_-]"
_ALNUM = "[A-Za-z0-9]"
_HEX = "[a-fA-F0-9]"
_BASE64 = "[A-Za-z0-9+/]"
_DOTTED = "[A-Za-z0-9_.=-]"
_MAXIMUM = re.compile(r",(\d+)\}")
_MARGIN = 200
"""More characters than a prefix and the parts of a token of fixed length have."""
_END = "(?![A-Za-z0-9]|[_-][A-Za-z0-9])"
_DIGIT = r"(?=[A-Za-z_-]{0,40}\d)"
"""Requires a digit soon, where the prefix is also the start of names in programs."""

_AI = (
    ("anthropic", "sk-ant-", f"{_ANY}{{20,200}}"),
    ("aws-bedrock", "ABSK bedrock-api-key-", f"{_BASE64}{{40,500}}={{0,2}}"),
    ("brave-search", "BSA", f"{_DIGIT}{_ANY}{{24,40}}{_END}"),
    ("browserbase", "bb_live_ bb_test_", f"{_ANY}{{20,60}}"),
    ("cerebras", "csk-", f"{_ALNUM}{{40,60}}"),
    ("cursor", "key_", f"{_HEX}{{60,80}}"),
    ("devin", "cog_", "[a-z2-7]{48,60}"),
    ("devin-service", "apk_", f"{_BASE64}{{60,200}}={{0,2}}"),
    ("e2b", "e2b_", f"{_HEX}{{36,48}}"),
    ("firecrawl", "fc-", f"{_HEX}{{32}}{_END}"),
    ("fireworks", "fw_", f"{_DIGIT}{_ALNUM}{{20,40}}{_END}"),
    ("google-ai", "AQ.", f"Ab8{_ANY}{{40,60}}"),
    ("groq", "gsk_", f"{_ALNUM}{{48,60}}"),
    ("helicone", "sk-helicone-", f"{_ANY}{{20,60}}"),
    ("huggingface", "hf_ api_org_", f"{_ALNUM}{{30,60}}{_END}"),
    ("jina", "jina_", f"{_ANY}{{40,80}}"),
    ("langfuse", "sk-lf- pk-lf-", UUID),
    ("langsmith", "lsv2_pt_ lsv2_sk_ ls__", f"{_HEX}{{32}}(?:_{_HEX}{{10}})?"),
    ("llamacloud", "llx-", f"{_ALNUM}{{40,60}}"),
    ("minimax", "sk-api-", f"{_ANY}{{60,140}}"),
    ("modal", "ak- as-", f"{_DIGIT}{_ALNUM}{{22}}{_END}"),
    ("nvidia", "nvapi-", f"{_ANY}{{50,80}}"),
    ("openai", "sk-proj- sk-svcacct- sk-admin- sk-None-", f"{_ANY}{{20,250}}"),
    ("openrouter", "sk-or-", f"(?:v1-)?{_HEX}{{48,64}}"),
    ("perplexity", "pplx-", f"{_ALNUM}{{40,60}}"),
    ("pinecone", "pcsk_", f"{_ALNUM}{{5,6}}_{_ALNUM}{{50,70}}"),
    ("replicate", "r8_", f"{_ALNUM}{{36,42}}"),
    ("runpod", "rpa_", f"{_ALNUM}{{30,50}}"),
    ("sk-key", "sk-", f"{_DIGIT}{_ALNUM}{{32,64}}{_END}"),
    ("sk-hex-key", "sk_", f"{_HEX}{{40,64}}{_END}"),
    ("tavily", "tvly-", f"{_ANY}{{24,60}}"),
    ("together", "tgp_v1_", f"{_ANY}{{40,50}}"),
    ("voyage", "pa-", f"{_DIGIT}{_ANY}{{43}}{_END}"),
    ("wandb", "wandb_v1_", f"{_ANY}{{60,90}}"),
    ("xai", "xai-", f"{_ALNUM}{{60,120}}"),
)
_GIT_AND_CI = (
    ("atlassian", "ATATT3 ATCTT3 ATSTT3 ATTA", f"{_DOTTED}{{40,400}}"),
    ("bitbucket", "ATBB", f"{_DIGIT}{_ALNUM}{{24,40}}{_END}"),
    ("buildkite", "bkua_ bkaa_ bkaj_ bkar_ bkct_ bkpt_ bkat_", f"{_ANY}{{36,400}}"),
    ("circleci", "CCIPAT_ CCIPRJ_", f"{_ALNUM}{{20,24}}_{_HEX}{{36,44}}"),
    ("deepsource", "dsp_", f"{_ALNUM}{{32,48}}"),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", f"{_ALNUM}{{36,255}}"),
    ("github-fine-grained", "github_pat_", "[A-Za-z0-9_]{60,255}"),
    (
        "gitlab",
        "glpat- gldt- glrt- glptt- glsoat- glffct- glft- glimt- glagent- gloas- glwt-",
        f"{_DOTTED}{{20,320}}",
    ),
    ("gitlab-job", "glcbt-", f"{_ALNUM}{{1,5}}_{_ANY}{{20,64}}"),
    ("gitlab-runner", "GR1348941", f"{_ANY}{{20,40}}"),
    ("harness", "pat. sat.", rf"{_ANY}{{22}}\.{_ALNUM}{{24}}\.{_ALNUM}{{20}}"),
    ("heroku", "HRKU-", f"(?:AA{_ANY}{{50,70}}|{UUID})"),
    ("infracost", "ico-", f"{_DIGIT}{_ALNUM}{{32}}{_END}"),
    ("mergify", "mergify_application_key_", f"{_ANY}{{40,200}}"),
    ("netlify", "nfp_ nfu_ nfo_ nfc_", f"{_ALNUM}{{36,48}}"),
    ("octopus", "API-", f"[A-Z0-9]{{25,32}}{_END}"),
    ("prefect", "pnu_ pnb_", f"{_ALNUM}{{36}}{_END}"),
    ("render", "rnd_", f"{_DIGIT}{_ALNUM}{{28,36}}{_END}"),
    ("scalingo", "tk-us-", f"{_ANY}{{48}}"),
    ("sonar", "squ_ sqp_ sqa_", f"{_HEX}{{40}}"),
    ("sonarqube-cloud", "sqco_", f"{_ALNUM}{{50,70}}"),
    ("sourcegraph", "sgp_", f"(?:(?:{_HEX}{{16}}|local)_)?{_HEX}{{40}}"),
    ("sourcegraph-cody", "slk_", f"{_HEX}{{64}}"),
    ("bitbucket-server", "BBDC-", "[A-Za-z0-9+/@_-]{40,50}"),
    ("trigger-dev", "tr_dev_ tr_prod_ tr_stg_ tr_pat_", f"{_ALNUM}{{20,48}}{_END}"),
    ("inngest", "signkey-prod- signkey-test- signkey-branch-", f"{_HEX}{{32,64}}"),
    ("n8n", "n8n_api_", f"{_HEX}{{40,120}}"),
    ("vercel-blob", "vercel_blob_rw_", f"{_ALNUM}{{10,24}}_{_ALNUM}{{20,50}}"),
    ("vercel-env", "vercel_pat_", f"{_ALNUM}{{20,60}}"),
    ("snyk-token", "snyk_uat. snyk_sat.", f"{_DOTTED}{{40,200}}"),
    ("socket", "sktsec_", f"{_ANY}{{40,60}}"),
    ("endor", "endr+", f"{_ANY}{{16,40}}"),
    ("aikido", "AIK_CI_ AIK_SECRET_", f"{_ALNUM}{{20,70}}"),
    ("vercel", "vcp_ vca_ vcr_ vci_ vck_", f"{_ANY}{{50,64}}"),
)
_PACKAGES = (
    ("artifactory", "AKCp", f"{_ALNUM}{{60,80}}"),
    ("artifactory-reference", "cmVmdGtu", f"{_ALNUM}{{50,64}}"),
    ("clojars", "CLOJARS_", "[a-z0-9]{60}"),
    ("cloudsmith", "csa_", f"{_HEX}{{30}}{_ALNUM}{{6}}"),
    ("crates-io", "cio", f"{_DIGIT}{_ALNUM}{{32}}{_END}"),
    ("docker", "dckr_pat_ dckr_oat_", f"{_ANY}{{24,40}}"),
    ("docker-swarm", "SWMTKN-1- SWMKEY-1-", "[A-Za-z0-9+/-]{40,100}"),
    ("npm", "npm_", f"{_ALNUM}{{36}}{_END}"),
    ("nuget", "oy2", f"[a-z0-9]{{43}}{_END}"),
    ("packagist", "packagist_ack_ packagist_uut_", f"{_HEX}{{40,80}}"),
    ("pypi", "pypi-AgE", f"{_ANY}{{40,400}}"),
    ("rubygems", "rubygems_", f"{_HEX}{{48}}"),
    ("deno", "ddp_", f"{_ALNUM}{{36}}{_END}"),
)
_CLOUDS = (
    ("aiven", "AVNS_", f"{_ANY}{{15,40}}"),
    ("alibaba", "LTAI", f"{_ALNUM}{{12,24}}{_END}"),
    ("alibaba-sts", "STS.N", f"{_DIGIT}{_ALNUM}{{16,64}}"),
    ("aws-appsync", "da2-", f"{_DIGIT}[a-z0-9]{{26}}{_END}"),
    ("aws-key", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}(?![A-Z0-9])"),
    ("aws-session", "IQoJb3JpZ2luX2Vj FwoGZXIvYXdz", f"{_BASE64}{{60,2000}}={{0,2}}"),
    ("cloudflare", "cfut_ cfat_ cfk_", f"{_ANY}{{36,60}}"),
    ("cloudflare-origin", "v1.0-", f"{_HEX}{{24}}-{_HEX}{{120,160}}"),
    ("databricks", "dapi dose", f"{_HEX}{{32}}(?:-\\d)?{_END}"),
    ("digitalocean", "doo_v1_ dop_v1_ dor_v1_", f"{_HEX}{{64}}"),
    ("exoscale", "EXO", f"{_HEX}{{24,30}}{_END}"),
    ("fly", "fo1_ fm1a_ fm1r_ fm2_", "[A-Za-z0-9+/_=,-]{40,1000}"),
    ("google", "AIza", f"{_ANY}{{35}}{_END}"),
    ("google-oauth", "GOCSPX-", f"{_ANY}{{28}}"),
    ("google-access", "ya29.", f"{_ANY}{{30,1000}}"),
    ("google-refresh", "1//0", f"{_ANY}{{40,160}}"),
    ("scaleway", "SCW", f"[A-Z0-9]{{17}}{_END}"),
    ("tencent", "AKID", f"{_ALNUM}{{32}}{_END}"),
    ("upcloud", "ucat_", f"{_ALNUM}{{24,32}}"),
    ("yandex", "AQVN YC", f"{_DIGIT}{_ANY}{{33,40}}{_END}"),
    ("yandex-iam", "t1.", rf"{_ANY}{{40,300}}={{0,2}}\.{_ANY}{{80,90}}={{0,2}}"),
)
_DATABASES = (
    ("tinybird", "p.eyJ", rf"{_ANY}{{40,400}}\.{_ANY}{{20,60}}"),
    ("astra", "AstraCS:", f"{_ALNUM}{{20,40}}(?::{_HEX}{{60,70}})?"),
    ("clickhouse", "4b1d", f"{_ALNUM}{{38}}{_END}"),
    ("cockroach", "CCDB1_", f"{_ALNUM}{{22}}_{_ALNUM}{{40}}"),
    ("elastic", "essu_ essa_", f"{_ANY}{{50,200}}={{0,2}}"),
    ("fauna", "fnA", f"{_DIGIT}{_ANY}{{36,60}}{_END}"),
    ("mongodb-atlas", "mdb_sa_sk_", f"{_ANY}{{36,48}}"),
    ("neon", "napi_", f"{_ALNUM}{{60,70}}"),
    ("planetscale", "pscale_tkn_ pscale_oauth_ pscale_pw_", f"{_DOTTED}{{32,64}}"),
    ("supabase", "sbp_ sbp_oauth_", f"{_HEX}{{40}}"),
    ("supabase-secret", "sb_secret_", f"{_ANY}{{28,40}}"),
    ("xata", "xau_", f"{_ALNUM}{{28,40}}"),
)
_MESSAGING = (
    ("facebook", "EAA", f"(?<![A-Za-z0-9][+/]EAA){_DIGIT}{_ALNUM}{{80,300}}"),
    ("firebase-messaging", "AAAA", r"[\w-]{7}:APA91b[\w-]{100,200}"),
    ("instagram", "IGQV IGAA", f"{_ANY}{{80,300}}"),
    ("mailersend", "mlsn.", f"{_ALNUM}{{60,100}}"),
    ("mailgun", "key-", f"{_HEX}{{32}}{_END}"),
    ("onesignal", "os_v2_app_ os_v2_org_", "[a-z2-7]{90,110}"),
    ("pinterest", "pina_", f"{_ALNUM}{{24,200}}"),
    ("resend", "re_", f"{_DIGIT}{_ALNUM}{{8}}_{_ALNUM}{{20,28}}{_END}"),
    ("sendgrid", "SG.", rf"{_ANY}{{20,24}}\.{_ANY}{{39,50}}"),
    ("sendinblue", "xkeysib- xsmtpsib-", f"{_HEX}{{64}}-{_ALNUM}{{16}}"),
    (
        "slack",
        "xoxa- xoxb- xoxc- xoxo- xoxp- xoxr- xoxs-",
        rf"{_DIGIT}[A-Za-z0-9-]{{10,250}}",
    ),
    ("slack-app", "xapp-", r"\d-[A-Za-z0-9-]{20,250}"),
    ("slack-config", "xoxe- xoxe.", "[A-Za-z0-9-]{40,250}"),
    ("slack-workflow", "xwfp-", "[A-Za-z0-9-]{40,250}"),
    ("slack-cookie", "xoxd-", "[A-Za-z0-9%+/_-]{40,400}={0,2}"),
    ("twilio", "SK", f"[0-9a-f]{{32}}{_END}"),
    ("twitter-bearer", "AAAAAAAAAAAAAAAAAAAAA", r"(?=\w{1,100}[%=])[\w%=]{60,140}"),
)
_PAYMENTS = (
    (
        "adyen",
        "AQE",
        r"(?<![A-Za-z0-9][+/]AQE)[\w+/-]{60,300}={0,2}-[^\s\"']{20,100}",
    ),
    ("asaas", "$aact_", "[A-Za-z0-9_:-]{20,200}"),
    ("duffel", "duffel_test_ duffel_live_", f"{_DOTTED}{{40,50}}"),
    ("easypost", "EZAK EZTK", f"{_ALNUM}{{54}}"),
    ("flutterwave", "FLWSECK- FLWSECK_TEST-", f"{_HEX}{{12,40}}(?:-X)?"),
    ("gocardless", "live_", f"{_DIGIT}{_ANY}{{40}}{_END}"),
    ("lob", "live_ test_", f"{_HEX}{{35}}{_END}"),
    ("mercadopago", "APP_USR-", f"{_ANY}{{40,90}}"),
    ("mercury", "mercury_production_ mercury_sandbox_", f"{_ANY}{{40,80}}"),
    ("midtrans", "Mid-server- SB-Mid-server-", f"{_ANY}{{20,40}}"),
    ("mollie", "live_ test_", f"{_ALNUM}{{30}}{_END}"),
    ("paddle", "pdl_live_apikey_ pdl_sdbx_apikey_", f"{_ANY}{{40,70}}"),
    ("paypal", "access_token$production$", r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    ("plaid", "access-sandbox- access-development- access-production-", UUID),
    ("polar", "polar_at_ polar_oat_ polar_pat_", f"{_ANY}{{20,100}}"),
    ("ramp", "ramp_sec_", f"{_ALNUM}{{40,60}}"),
    ("razorpay", "rzp_live_ rzp_test_", f"{_DIGIT}{_ALNUM}{{14,20}}"),
    ("shippo", "shippo_live_ shippo_test_", f"{_HEX}{{40}}"),
    ("shopify", "shpat_ shpca_ shppa_ shpss_", f"{_HEX}{{32}}"),
    ("square", "sq0atp- sq0csp- sq0idp-", f"{_ANY}{{22,60}}"),
    ("square-access", "EAAA", f"{_ANY}{{56,64}}{_END}"),
    (
        "stripe",
        "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_",
        f"{_ALNUM}{{16,250}}",
    ),
    ("stripe-webhook", "whsec_", "[A-Za-z0-9+/]{24,64}={0,2}"),
)
_OBSERVABILITY = (
    ("axiom", "xaat- xapt-", UUID),
    ("datadog", "ddapp_ ddpat_", f"{_ALNUM}{{30,50}}"),
    ("dynatrace", "dt0c01. dt0s01. dt0s02.", r"[A-Z0-9]{8,24}\.[A-Z0-9]{64}"),
    ("grafana", "glc_", f"{_BASE64}{{32,400}}={{0,3}}"),
    ("grafana-account", "glsa_", f"{_ALNUM}{{32}}_{_HEX}{{8}}"),
    ("grafana-legacy", "eyJrIjoi", f"{_BASE64}{{60,400}}={{0,3}}"),
    ("honeycomb", "hcaik_ hcxik_ hcxmk_ hcamk_ hcbik_ hcalk_", f"{_ALNUM}{{50,80}}"),
    ("new-relic", "NRAK- NRII- NRJS- NRRA- NRAA- NRBR- NRIQ-", f"{_ANY}{{19,48}}"),
    ("posthog", "phx_ phs_", f"{_ANY}{{40,60}}"),
    ("rootly", "rootly_", f"{_HEX}{{60,68}}"),
    ("sentry-org", "sntrys_", "[A-Za-z0-9+/=_-]{60,400}"),
    ("sentry-user", "sntryu_ sntrya_", f"{_HEX}{{64}}"),
    ("statsig", "secret-", f"{_DIGIT}{_ALNUM}{{40,50}}{_END}"),
)
_SECRETS_AND_IDENTITY = (
    ("1password", "ops_eyJ", "[A-Za-z0-9+/_-]{100,2000}={0,3}"),
    (
        "1password-key",
        "A3-",
        "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    ),
    ("adobe", "p8e- p8-", f"{_DIGIT}{_ANY}{{32}}{_END}"),
    ("age", "AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1", "[02-9A-HJ-NP-Z]{58,62}"),
    ("configcat", "configcat-sdk-1/ configcat-proxy/", f"{_ANY}{{22}}/{_ANY}{{22}}"),
    ("defined-networking", "dnkey-", f"{_ANY}{{26}}-{_ANY}{{52}}"),
    (
        "doppler",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        rf"(?:[a-z0-9_-]{{2,35}}\.)?{_ALNUM}{{40,44}}",
    ),
    ("infisical", "st.", rf"{_HEX}{{24}}\.{_HEX}{{32}}\.{_HEX}{{32}}"),
    ("ory", "ory_at_ ory_rt_ ory_pat_ ory_wak_ ory_st_", f"{_DOTTED}{{24,120}}"),
    ("portainer", "ptr_", "[A-Za-z0-9+/]{40,48}={0,2}"),
    ("zoho", "1000.", rf"{_HEX}{{32}}\.{_HEX}{{32}}"),
    ("flagsmith", "ser.", f"{_DIGIT}{_ALNUM}{{22}}{_END}"),
    ("openshift", "sha256~", f"{_ANY}{{43}}{_END}"),
    ("pulumi", "pul-", f"{_HEX}{{40}}"),
    ("stytch", "secret-live- secret-test-", f"{_ANY}{{32,48}}"),
    ("tailscale", "tskey-", f"(?:[a-z]{{2,12}}-)?{_ANY}{{16,60}}"),
    ("unkey", "unkey_", f"{_ALNUM}{{20,32}}"),
    ("vault", "hvs. hvb. hvr.", f"{_ANY}{{24,400}}"),
)
_OTHER = (
    ("adafruit", "aio_", f"{_DIGIT}{_ALNUM}{{28}}{_END}"),
    ("airtable-token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    ("amazon-mws", "amzn.mws.", UUID),
    ("apify", "apify_api_", f"{_ALNUM}{{34,40}}"),
    ("beamer", "b_", f"{_DIGIT}[A-Za-z0-9_=-]{{44}}(?![A-Za-z0-9])"),
    ("bip32", "xprv yprv zprv tprv", f"{_ALNUM}{{90,120}}"),
    ("blockfrost", "mainnet preprod preview", f"{_DIGIT}{_ALNUM}{{32}}{_END}"),
    ("canva", "cnvca", f"{_ANY}{{48,54}}"),
    ("clickup", "pk_", "\\d{6,10}_[A-Z0-9]{32}"),
    ("contentful", "CFPAT-", f"{_ANY}{{40,50}}"),
    ("devcycle", "dvc_server_", f"{_DIGIT}{_ANY}{{8,50}}"),
    ("dropbox", "sl.", f"{_DOTTED}{{120,1500}}"),
    ("figma", "figd_ figr_ figo_ figp_", f"{_ANY}{{36,60}}"),
    ("frameio", "fio-u-", f"{_DOTTED}{{60,68}}"),
    ("cal-com", "cal_live_", f"{_HEX}{{32}}"),
    ("daytona", "dtn_", f"{_HEX}{{40,70}}"),
    ("fleetbase", "flb_live_", f"{_ALNUM}{{20}}"),
    ("flexport", "shltm_", f"{_ANY}{{40}}"),
    ("gitbook", "gb_api_", f"{_ALNUM}{{30,60}}"),
    ("hubspot", "pat-na1- pat-na2- pat-eu1- pat-ap1-", UUID),
    ("intra42", "s-s4t2ud- s-s4t2af-", f"{_HEX}{{64}}"),
    ("ionic", "ion_", f"{_DIGIT}{_ALNUM}{{42}}{_END}"),
    ("launchdarkly", "sdk- mob- api-", UUID),
    ("linkedin-secret", "WPL_AP1.", rf"{_ALNUM}{{12,20}}\.[A-Za-z0-9+/=]{{6,16}}"),
    ("lichess", "lip_", f"{_DIGIT}{_ALNUM}{{20,60}}"),
    ("linear", "lin_api_ lin_oauth_ lin_wh_", f"{_ALNUM}{{32,70}}"),
    ("mapbox", "sk.eyJ", rf"{_ANY}{{40,200}}\.{_ANY}{{20,30}}"),
    ("intercom-token", "dG9rOj", f"{_BASE64}{{50,58}}={{0,2}}"),
    ("luma", "luma-", f"{UUID}-{_HEX}{{8,64}}"),
    ("pubnub", "sec-c-", f"(?:{UUID}|{_ALNUM}{{48}})"),
    ("runway", "key_", f"{_HEX}{{120,140}}"),
    ("salad", "salad_cloud_", f"{_ALNUM}{{1,7}}_{_ALNUM}{{7,235}}"),
    ("salesforce-refresh", "5Aep861", r"[\w.=]{60,200}"),
    ("trufflehog", "thog-key-", f"{_HEX}{{16}}"),
    ("mandrill", "md-", f"{_DIGIT}{_ANY}{{22}}{_END}"),
    ("nostr", "nsec1", "[02-9ac-hj-np-z]{58}"),
    ("nats-seed", "SUA SAA SOA SNA SCA SXA", f"{_DIGIT}[A-Z2-7]{{55}}{_END}"),
    ("notion", "ntn_ secret_", f"{_DIGIT}{_ALNUM}{{40,52}}{_END}"),
    ("persona", "persona_production_ persona_sandbox_", f"{_ANY}{{20,80}}"),
    ("postman", "PMAK-", f"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("readme", "rdme_", f"{_ALNUM}{{60,80}}"),
    ("samsara", "samsara_api_", f"{_ALNUM}{{24,36}}"),
    ("settlemint", "sm_aat_ sm_pat_ sm_sat_", f"{_ALNUM}{{16,32}}"),
    ("typeform", "tfp_", f"{_DOTTED}{{50,64}}"),
    ("ubidots", "BBFF- BBUS-", f"{_ALNUM}{{30,36}}"),
    ("val-town", "vtwn_", f"{_ANY}{{20,80}}"),
    ("wakatime", "waka_", f"(?:{UUID}|[a-z0-9]{{36,64}})"),
    ("zuplo", "zpka_", f"{_ALNUM}{{32}}_{_HEX}{{8}}"),
)


def _make_rule(kind: str, prefixes: str, rest: str) -> Rule:
    """Return the rule of tokens with one of the prefixes, separated by spaces."""
    names = prefixes.split()
    alternatives = "|".join(map(re.escape, names))
    return Rule(
        kind,
        tuple(name.lower() for name in names),
        f"{WORD_START}(?:{alternatives}){rest}",
        after=_MARGIN + sum(int(number) for number in _MAXIMUM.findall(rest)),
    )


RULES = tuple(
    _make_rule(*row)
    for table in (
        _AI,
        _GIT_AND_CI,
        _PACKAGES,
        _CLOUDS,
        _DATABASES,
        _MESSAGING,
        _PAYMENTS,
        _OBSERVABILITY,
        _SECRETS_AND_IDENTITY,
        _OTHER,
    )
    for row in table
)
