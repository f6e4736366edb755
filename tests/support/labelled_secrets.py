# ruff: noqa: E501, INP001, RUF001, RUF100, S311, T201
"""Made-up credentials, and harmless look-alikes, to test a secret redactor.

Nothing here is a real credential: every value comes from a seeded random generator.
The tables use a small template language. A broken bar (``¦``) splits a vendor's prefix
into two parts, so that no scanner flags this file, and is dropped. ``{A36}`` stands for
36 random characters of class A (see ``_CLASSES`` and ``_special``). ``«`` and ``»``
enclose what must not survive. A backslash and an n make a new line. Several entries on
one line are parted by ``;;``; the first word of an entry is its name.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import string
import urllib.parse
import uuid
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable


class Sample(NamedTuple):
    """A text with credentials in it, and the substrings that must not survive."""

    text: str
    secrets: tuple[str, ...]


Maker: TypeAlias = "Callable[[Random], Sample]"

_ALNUM = string.ascii_letters + string.digits
_CLASSES = {
    "A": _ALNUM,
    "a": string.ascii_letters,
    "l": string.ascii_lowercase + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "H": "0123456789ABCDEF",
    "h": "0123456789abcdef",
    "B": _ALNUM + "+/",
    "W": _ALNUM + "-_",
    "D": string.digits,
    "V": string.ascii_uppercase + "234567",
    "R": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "Z": string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)",
    "X": _ALNUM + "!@#$%^&*()-_[]{}<>~`+=,.;:/?|",
}
_WORDS = re.findall(
    "[a-z]+",
    "zebra zero zone young yellow wolf winter whisper velvet urban turtle tunnel trophy ticket sunset spider "
    "silver river planet orbit ocean oxygen mirror marble lunar lemon kitten jungle island hurdle harvest guitar "
    "galaxy fossil fabric engine dragon desert cradle cousin canyon butter bridge basket absurd acid alarm album",
)


def _text(rng: Random, size: int, letters: str) -> str:
    return "".join(rng.choices(letters, k=size))


def _b64(data: str) -> str:
    return base64.b64encode(data.encode()).decode()


def _url_b64(data: str) -> str:
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def _password(rng: Random, size: int) -> str:
    """Letters and digits, with at least one digit, one small and one capital letter."""
    chars = [*_text(rng, size - 3, _ALNUM), rng.choice("23456789")]
    chars += [rng.choice(string.ascii_lowercase), rng.choice(string.ascii_uppercase)]
    rng.shuffle(chars)
    return "".join(chars)


def _jwt(rng: Random, size: int) -> str:
    """Make a signed token whose signature has the given size; the header is no secret."""
    head = _url_b64(f'{{"alg":"{"HS256" if size < 50 else "RS256"}","typ":"JWT"}}')
    claims = f'{{"sub":"{_text(rng, 12, _ALNUM)}","iat":{rng.randint(17 * 10**8, 18 * 10**8)}}}'
    return f"{head}.«{_url_b64(claims)}».«{_text(rng, size, _CLASSES['W'])}»"


def _special(kind: str, size: int, rng: Random) -> str:
    """Expand the kinds that are not simply random characters of one class."""
    if kind in "PS":  # pieces of a password; each piece must go, not only the first
        marks = "!#%^*_-+." if kind == "P" else "/@:"
        parts = [rng.choice(marks) + f"«{_password(rng, 5)}»" for _ in range(size)]
        if kind == "S":
            parts[1:3] = ["/" + parts[1][1:], "@" + parts[2][1:]]
        return "".join(parts)[2:-1]  # the template has the outer marks
    if kind == "Q":
        return _password(rng, size)
    if kind == "E":
        return _b64(_password(rng, size))
    if kind == "C":
        return _b64(f"{_text(rng, 5, _CLASSES['l'])}:{_password(rng, size)}")
    if kind == "G":
        return str(uuid.UUID(int=rng.getrandbits(128), version=4))
    if kind == "J":
        return _jwt(rng, size)
    return " ".join(rng.sample(_WORDS, size))  # M: a mnemonic


def _fill(template: str, rng: Random) -> str:
    def expand(match: re.Match[str]) -> str:
        kind, size = match[1], int(match[2])
        letters = _CLASSES.get(kind)
        return _text(rng, size, letters) if letters else _special(kind, size, rng)

    return re.sub(
        r"\{([A-Za-z])(\d+)\}", expand, template.replace("\\n", "\n").replace("¦", "")
    )


def _maker(template: str) -> Maker:
    """Make samples from a template.

    Without marks the secret is the whole text, less a fixed start of over 8 characters
    (which is the same for every customer of the vendor, and gives nothing away).
    """
    fixed = re.split(r"\{[A-Za-z]\d+\}", template.replace("¦", ""), maxsplit=1)[0]

    def make(rng: Random) -> Sample:
        filled = _fill(template, rng)
        secrets = tuple(re.findall("«(.*?)»", filled, re.DOTALL))
        text = filled.replace("«", "").replace("»", "")
        return Sample(text, secrets or (text[len(fixed) if len(fixed) > 8 else 0 :],))

    return make


def _entries(table: str) -> list[str]:
    return [e for line in table.strip().splitlines() for e in line.split(" ;; ")]


def _table(table: str) -> dict[str, Maker]:
    pairs = [entry.split(" ", 1) for entry in _entries(table)]
    return {name: _maker(template) for name, template in pairs}


DEFINITE: dict[str, Maker] = _table(r"""
openai_old s¦k-{A20}T3Blbk¦FJ{A20} ;; openai_project s¦k-proj-{W74}T3Blbk¦FJ{W74} ;; openai_service s¦k-svcacct-{W74}T3Blbk¦FJ{W74}
openai_admin s¦k-admin-{W58}T3Blbk¦FJ{W58} ;; anthropic s¦k-ant-api03-{W93}AA ;; anthropic_admin s¦k-ant-admin01-{W93}AA
anthropic_oauth s¦k-ant-oat01-{W93}AA ;; anthropic_refresh s¦k-ant-ort01-{W93}AA ;; huggingface h¦f_{a34} ;; huggingface_org api¦_org_{a34}
replicate r¦8_{A37} ;; groq gs¦k_{A20}WGdyb3FY{A24} ;; perplexity ppl¦x-{A48} ;; xai xa¦i-{A80} ;; gemini AI¦za{W35}
openrouter s¦k-or-v1-{h64} ;; deepseek DEEPSEEK_API_KEY=«s¦k-{h32}» ;; cohere COHERE_API_KEY=«{A40}» ;; mistral MISTRAL_API_KEY=«{A32}»
fireworks f¦w_{A24} ;; together TOGETHER_API_KEY=«{h64}» ;; together_v1 tg¦p_v1_{W43} ;; elevenlabs s¦k_{h48} ;; langsmith ls¦v2_pt_{h32}_{h10}
langfuse s¦k-lf-{G0} ;; nvidia nv¦api-{W64} ;; cerebras cs¦k-{l48} ;; pinecone pc¦sk_{A6}_{A63} ;; tavily tv¦ly-dev-{A32} ;; wandb WANDB_API_KEY=«{h40}»
voyage VOYAGE_API_KEY=«p¦a-{W43}» ;; jina ji¦na_{h32}{A28} ;; firecrawl FIRECRAWL_API_KEY=«f¦c-{h32}» ;; e2b e2¦b_{h40} ;; stability STABILITY_API_KEY=«s¦k-{A48}»
github_pat gh¦p_{A36} ;; github_oauth gh¦o_{A36} ;; github_user gh¦u_{A36} ;; github_server gh¦s_{A36} ;; github_refresh gh¦r_{A76} ;; github_fine git¦hub_pat_{A22}_{A59}
github_url https://x-access-token:«gh¦s_{A36}»@github.com/acme/app.git ;; gitlab_pat gl¦pat-{W20} ;; gitlab_routable gl¦pat-{W27}.01.{l9} ;; gitlab_deploy gl¦dt-{W20}
gitlab_runner gl¦rt-{W20} ;; gitlab_runner_old GR13¦48941{W20} ;; gitlab_job gl¦cbt-64_{W20} ;; gitlab_trigger gl¦ptt-{h40} ;; gitlab_agent gl¦agent-{W50} ;; gitlab_oauth gl¦oas-{h64}
gitlab_feed gl¦ft-{W20} ;; gitlab_url https://oauth2:«gl¦pat-{W20}»@gitlab.com/acme/app.git ;; bitbucket_app AT¦BB{A24}{H8} ;; bitbucket_repo AT¦CTT3xFfGN0{W140}={H8} ;; atlassian AT¦ATT3xFfGF0{W171}={H8}
circleci CCI¦PAT_{A22}_{h40} ;; travis TRAVIS_API_TOKEN=«{A22}» ;; buildkite bk¦ua_{h40} ;; jenkins JENKINS_API_TOKEN=«11{h32}» ;; sourcegraph sg¦p_{h16}_{h40} ;; codecov CODECOV_TOKEN=«{G0}»
sonar sq¦p_{h40} ;; sonar_user sq¦u_{h40} ;; azure_devops {A76}AZ¦DO{A4} ;; azure_devops_old AZURE_DEVOPS_EXT_PAT=«{l52}» ;; gitea GITEA_TOKEN=«{h40}» ;; harness pa¦t.{A22}.{h24}.{A20}
npm np¦m_{A36} ;; pypi py¦pi-AgEIcHlwaS5vcmc{W150} ;; pypi_test py¦pi-AgENdGVzdC5weXBpLm9yZw{W150} ;; rubygems ruby¦gems_{h48} ;; crates ci¦o{A32} ;; docker_pat dck¦r_pat_{W27}
docker_org dck¦r_oat_{W32} ;; nuget oy¦2{l43} ;; clojars CLO¦JARS_{h60} ;; artifactory AK¦Cp8{A69} ;; artifactory_ref cmVm¦dGtu{A56}
aws_key_id AK¦IA{V16} ;; aws_session_key_id AS¦IA{V16} ;; aws_session AWS_SESSION_TOKEN=IQoJb3JpZ2lu«{B300}»== ;; aws_bedrock AB¦SKQmVkcm9ja0FQSUtleS{A110}= ;; aws_presigned https://b.s3.amazonaws.com/f?X-Amz-Expires=60&X-Amz-Signature=«{h64}»
gcp_oauth_secret GOC¦SPX-{W28} ;; gcp_access ya¦29.a0{W160} ;; gcp_refresh 1¦//0{W100} ;; gcp_api_url https://maps.googleapis.com/maps/api/js?key=«AI¦za{W35}»
azure_storage DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=«{B86}»==;EndpointSuffix=core.windows.net ;; azure_client {A3}8¦Q~{W34} ;; azure_sas https://acme.blob.core.windows.net/c/f?sv=2023-11-03&sr=b&sp=r&sig=«{A20}%2B{A21}»%3D
azure_bus Endpoint=sb://acme.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=«{B43}»= ;; azure_cosmos AccountEndpoint=https://acme.documents.azure.com:443/;AccountKey=«{B86}»==; ;; azure_function https://acme.azurewebsites.net/api/run?code=«{W53}»==
digitalocean do¦p_v1_{h64} ;; digitalocean_oauth do¦o_v1_{h64} ;; heroku HR¦KU-AA{W58} ;; heroku_old HEROKU_API_KEY=«{G0}» ;; cloudflare CLOUDFLARE_API_TOKEN=«{W40}» ;; cloudflare_ca v1¦.0-{h24}-{h146}
linode LINODE_TOKEN=«{h64}» ;; hetzner HCLOUD_TOKEN=«{A64}» ;; vultr VULTR_API_KEY=«{U36}» ;; fly Fly¦V1 fm2_{B180} ;; scaleway SCW_SECRET_KEY=«{G0}» ;; alibaba LT¦AI5t{A18} ;; tencent TENCENTCLOUD_SECRET_KEY=«{A32}»
yandex AQ¦VN{W36} ;; render rn¦d_{A28} ;; railway RAILWAY_TOKEN=«{G0}» ;; vercel VERCEL_TOKEN=«{A24}» ;; netlify nf¦p_{A36} ;; supabase sb¦p_{h40} ;; supabase_secret sb_¦secret_{W22}_{W8} ;; backblaze B2_APPLICATION_KEY=«K0¦05{B27}»
postgres postgres¦ql://app:«{Q16}»@db.internal:5432/orders ;; postgres_slash_at postgres://app:«{S4}»@db.internal:5432/orders ;; postgres_ipv6 postgres://app:«{P3}»@[2001:db8::5]:5432/orders ;; mysql mysql+py¦mysql://root:«{P3}»@10.0.0.7/shop?charset=utf8mb4
mongodb mongodb¦+srv://admin:«{Q18}»@cluster0.ab1cd.mongodb.net/?retryWrites=true ;; mongodb_percent mongodb://admin:«{Q8}»%40«{Q8}»%2F«{Q5}»@m1.internal:27017,m2.internal:27017/x ;; redis redis¦://:«{A32}»@cache:6379/0 ;; rediss_user rediss://default:«{Q20}»@[::1]:6380
amqp amqps¦://svc:«{S3}»@mq.internal/vhost ;; jdbc_postgres jdbc:postgresql://db.internal/orders?user=app&password=«{Q14}»&ssl=true ;; jdbc_oracle jdbc:oracle:thin:scott/«{Q12}»@//ora.internal:1521/XE ;; jdbc_sqlserver jdbc:sqlserver://sql.internal:1433;databaseName=a;user=sa;password=«{P3}»;
clickhouse clickhouse¦://default:«{Q16}»@ch.internal:9440/logs ;; planetscale ps¦cale_pw_{W43} ;; planetscale_token ps¦cale_tkn_{W43} ;; neon postgresql://o:«np¦g_{A12}»@ep-blue-1.eu-central-1.aws.neon.tech/db ;; databricks da¦pi{h32} ;; elastic_url https://elastic:«{Q20}»@es.internal:9200
ldap_url ldap://cn=admin:«{Q14}»@ldap.internal ;; ftp_url ftp://backup:«{P3}»@ftp.example.com/in ;; smtp_url smtps://mailer%40example.com:«{Q16}»@smtp.example.com:465 ;; odbc Driver=ODBC Driver 18 for SQL Server;Server=sql;Uid=sa;Pwd=«{P3}»;
slack_bot xo¦xb-{D12}-{D13}-{A24} ;; slack_user xo¦xp-{D12}-{D12}-{D13}-{h32} ;; slack_app xa¦pp-1-A{U10}-{D13}-{h64} ;; slack_rotate xo¦xe.xoxp-1-{A160} ;; slack_cookie xo¦xd-{A80}%3D ;; slack_client xo¦xc-{D12}-{D12}-{D13}-{h64}
telegram {D10}:A¦A{W33} ;; discord_bot M¦T{A24}.{A6}.{W38} ;; twilio_key S¦K{h32} ;; twilio_auth TWILIO_AUTH_TOKEN=«{h32}» ;; sendgrid S¦G.{W22}.{W43} ;; mailgun key¦-{h32} ;; mailgun_new MAILGUN_API_KEY=«{h32}-{h8}-{h8}» ;; mailchimp {h32}-u¦s12
postmark POSTMARK_SERVER_TOKEN=«{G0}» ;; resend r¦e_{A8}_{A24} ;; brevo xkey¦sib-{h64}-{A16} ;; brevo_smtp xsmtp¦sib-{h64}-{A16} ;; mailersend ml¦sn.{h64} ;; mandrill MANDRILL_API_KEY=«m¦d-{A22}» ;; line LINE_CHANNEL_SECRET=«{h32}»
stripe sk¦_live_{A24} ;; stripe_long sk¦_live_51{A97} ;; stripe_test sk¦_test_{A24} ;; stripe_restricted rk¦_live_{A24} ;; stripe_webhook wh¦sec_{A32} ;; square sq0¦csp-{W43} ;; square_access EA¦AA{W60} ;; braintree access_¦token$production${l16}${h32}
paypal PAYPAL_CLIENT_SECRET=«E{W79}» ;; razorpay RAZORPAY_KEY_SECRET=«{A24}» ;; plaid access¦-production-{G0} ;; paddle pdl¦_live_apikey_{l26}_{A22}_{A3} ;; paystack sk¦_live_{h40} ;; flutterwave FLWS¦ECK-{h32}-X ;; mollie MOLLIE_API_KEY=«live¦_{A30}»
shopify shp¦at_{h32} ;; shopify_secret shp¦ss_{h32} ;; shopify_custom shp¦ca_{h32} ;; mercadopago APP¦_USR-{D16}-{D6}-{h32}-{D9} ;; easypost EZ¦AK{A54} ;; adyen ADYEN_API_KEY=«AQE{B150}»
newrelic NR¦AK-{U27} ;; newrelic_licence {h36}NR¦AL ;; datadog DD_API_KEY=«{h32}» ;; datadog_app DATADOG_APP_KEY: «{h40}» ;; grafana gl¦sa_{A32}_{h8} ;; grafana_cloud gl¦c_eyJvIjoi{A120}= ;; sentry sn¦trys_eyJpYXQi{A120}=_{B43} ;; sentry_user sn¦tryu_{h64}
honeycomb hca¦ik_01{l58} ;; dynatrace dt¦0c01.{V24}.{V64} ;; posthog ph¦x_{A43} ;; pagerduty PAGERDUTY_API_KEY=«u+{A18}» ;; rollbar ROLLBAR_ACCESS_TOKEN=«{h32}» ;; sentry_dsn https://«{h32}:{h32}»@o12345.ingest.sentry.io/678 ;; splunk SPLUNK_HEC_TOKEN=«{G0}»
vault hv¦s.{W92} ;; vault_batch hv¦b.{W140} ;; vault_old VAULT_TOKEN=«s¦.{A24}» ;; onepassword op¦s_eyJ{A300} ;; onepassword_key A¦3-{V6}-{V6}-{V5}-{V5}-{V5}-{V5} ;; doppler dp¦.st.prd.{A43} ;; doppler_user dp¦.pt.{A43} ;; infisical s¦t.{h24}.{h32}.{h32}
okta OKTA_API_TOKEN=«00{W40}» ;; auth0 AUTH0_CLIENT_SECRET=«{W64}» ;; tailscale tsk¦ey-auth-{A11}CNTRL-{A32} ;; clerk CLERK_SECRET_KEY=«sk¦_live_{A42}» ;; bitwarden BWS_ACCESS_TOKEN=«0.{G0}.{A30}:{B22}»== ;; terraform {A14}.atlas¦v1.{W67} ;; pulumi pu¦l-{h40} ;; ngrok NGROK_AUTHTOKEN=«2{A26}_{A21}»
notion nt¦n_{D11}{A35} ;; notion_old NOTION_TOKEN=«sec¦ret_{A43}» ;; linear li¦n_api_{A40} ;; figma fi¦gd_{W40} ;; airtable pa¦t{A14}.{h64} ;; asana ASANA_TOKEN=«2/{D16}/{D16}:{h32}» ;; hubspot pa¦t-na1-{G0} ;; shippo ship¦po_live_{h40} ;; typeform tf¦p_{W44}_{A14}
postman PM¦AK-{h24}-{h34} ;; dropbox s¦l.B{W140} ;; contentful CF¦PAT-{W43} ;; algolia ALGOLIA_ADMIN_KEY=«{h32}» ;; mapbox s¦k.eyJ1Ijoi{A60}.{W22} ;; launchdarkly LD_SDK_KEY=«sd¦k-{G0}» ;; readme rd¦me_{l70} ;; frameio fi¦o-u-{W64} ;; prefect pn¦u_{A36} ;; clickup CLICKUP_TOKEN=«p¦k_{D8}_{U32}»
facebook EA¦ACEdEose0cBA{A150} ;; twitter AAAAAAAAAA¦AAAAAAAAAAAA{A30}%3D{A50} ;; salesforce 00¦D5g000004{A6}!AQ{A94} ;; zendesk ZENDESK_API_TOKEN=«{A40}» ;; duffel duf¦fel_live_{W43} ;; rapidapi X_RAPIDAPI_KEY=«{h10}msh{h15}p1{h6}jsn{h12}»
hook_slack https://hooks.slack¦.com/services/«T{U10}/B{U10}/{A24}» ;; hook_discord https://discord¦.com/api/webhooks/{D18}/«{W68}» ;; hook_teams https://acme.webhook.office¦.com/webhookb2/{G0}@{G0}/IncomingWebhook/«{h32}»/{G0} ;; hook_chat https://chat.googleapis¦.com/v1/spaces/AAAA{W7}/messages?key=AIza«{W35}»&token=«{W43}»
hook_feishu https://open.feishu¦.cn/open-apis/bot/v2/hook/«{G0}» ;; hook_dingtalk https://oapi.dingtalk¦.com/robot/send?access_token=«{h64}» ;; hook_wecom https://qyapi.weixin¦.qq.com/cgi-bin/webhook/send?key=«{G0}» ;; hook_zapier https://hooks.zapier¦.com/hooks/catch/{D7}/«{l7}»/
hook_logic https://prod-12.westeurope.logic¦.azure.com:443/workflows/{h32}/triggers/manual/paths/invoke?sv=1.0&sig=«{W43}» ;; hook_ifttt https://maker.ifttt¦.com/trigger/door/with/key/«{W22}»
age AGE-SECRET¦-KEY-1{R58} ;; wireguard [Interface]\nAddress = 10.8.0.2/32\nPrivate¦Key = «{B43}»= ;; kube_client_key     client-key-data: LS0tLS1CRUdJTiBS¦U0EgUFJJVkFURSBLRVktLS0tLQp«{B400}»==
jwk {"kty":"EC","crv":"P-256","x":"{W43}","y":"{W43}","d":"«{W43}»"} ;; putty PuTTY-User¦-Key-File-3: ssh-ed25519\nEncryption: none\nComment: me@host\nPublic-Lines: 2\nAAAAC3NzaC1lZDI1NTE5AAAAI{B39}\n{B16}\nPrivate-Lines: 2\n«{B64}»\n«{B23}»=\nPrivate-MAC: {h64}
putty_encrypted PuTTY-User¦-Key-File-2: ssh-rsa\nEncryption: aes256-cbc\nComment: old\nPublic-Lines: 1\nAAAAB3NzaC1yc2EAAAA{B45}\nPrivate-Lines: 3\n«{B64}»\n«{B64}»\n«{B42}»==\nPrivate-MAC: {h40}
jwt_hs {J43} ;; jwt_rs {J342} ;; jwt_header Authorization: Bearer {J86} ;; jwe eyJhbGciOiJSU0Et¦T0FFUCIsImVuYyI6IkEyNTZHQ00ifQ.«{W342}».«{W16}».«{W120}».«{W22}» ;; jwe_direct eyJhbGciOiJkaXIi¦LCJlbmMiOiJBMjU2R0NNIn0..«{W16}».«{W120}».«{W22}»
""")

_KEY_KINDS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "rsa": ("RSA PRIVATE", "MIIEpAIBAAKC", ()),
    "openssh": ("OPENSSH PRIVATE", "b3BlbnNzaC1r", ()),
    "ec": ("EC PRIVATE", "MHcCAQEEI", ()),
    "pkcs8": ("PRIVATE", "MIIEvQIBADAN", ()),
    "pkcs8_encrypted": ("ENCRYPTED PRIVATE", "MIIFHDBOBgkq", ()),
    "dsa": ("DSA PRIVATE", "MIIBuwIBAAKB", ()),
    "rsa_encrypted": (
        "RSA PRIVATE",
        "",
        (
            "Proc-Type: 4,ENCRYPTED",
            "DEK-Info: AES-128-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9",
            "",
        ),
    ),
    "pgp": ("PGP PRIVATE", "lQOYBGXx", ("Version: GnuPG v2", "")),
}
_KEY_SHAPES: dict[str, Callable[[list[str]], str]] = {
    "whole": "\n".join,
    "cut_start": lambda key: "\n".join([key[4][20:], *key[5:]]),
    "cut_end": lambda key: "\n".join([*key[:5], key[5][:30]]),
    "cat_n": lambda key: "\n".join(f"{n:6d}\t{line}" for n, line in enumerate(key, 1)),
    "arrow_n": lambda key: "\n".join(f"{n:6d}→{line}" for n, line in enumerate(key, 1)),
    "grep_n": lambda key: "\n".join(
        f"deploy/id_rsa:{n}:{line}" for n, line in enumerate(key, 1)
    ),
    "diff_add": lambda key: (
        "@@ -0,0 +1,14 @@\n" + "\n".join("+" + line for line in key)
    ),
    "diff_remove": lambda key: "\n".join("-" + line for line in key),
    "crlf": "\r\n".join,
    "yaml": lambda key: "tls.key: |\n" + "\n".join("    " + line for line in key),
    "mail_quote": lambda key: "\n".join("> " + line for line in key),
    "json": lambda key: json.dumps(
        {"type": "service_account", "private_key": "\n".join(key) + "\n"}
    ),
    "env": lambda key: 'DEPLOY_KEY="' + "\\n".join(key) + '"',
    "python": lambda key: (
        "KEY = (\n" + "\n".join(f'    "{line}\\n"' for line in key) + "\n)"
    ),
    "cut_both_cat_n": lambda key: "\n".join(
        f"{n:6d}\t{line}" for n, line in enumerate(key[3:], 4)
    ),
}


def _key_maker(kind: str, shape: str) -> Maker:
    """Make private keys in an armour; each line of base64 that is shown is a secret."""
    label, start, headers = _KEY_KINDS[kind]
    label += " KEY" + (" BLOCK" if kind == "pgp" else "")

    def make(rng: Random) -> Sample:
        body = [_text(rng, 64, _CLASSES["B"]) for _ in range(10)]
        body[0] = (start + body[0])[:64]
        body.append(_text(rng, 30, _CLASSES["B"]) + "==")
        key = [f"-----BEGIN {label}-----", *headers, *body, f"-----END {label}-----"]
        text = _KEY_SHAPES[shape](key)
        shown = (next((p for p in (x, x[20:], x[:30]) if p in text), "") for x in body)
        return Sample(text, tuple(filter(None, shown)))

    return make


DEFINITE |= {f"key_{kind}": _key_maker(kind, "whole") for kind in _KEY_KINDS}
DEFINITE |= {
    f"key_{k}_{s}": _key_maker(k, s)
    for k in ("rsa", "openssh")
    for s in [*_KEY_SHAPES][1:]
}

CONTEXTUAL: dict[str, Maker] = _table(r"""
env_password DB_PASSWORD=«{P3}» ;; env_quoted SMTP_PASSWORD="«{P3}»" ;; env_api_key INTERNAL_API_KEY=«{A32}» ;; env_client_secret OAUTH_CLIENT_SECRET='«{W40}»' ;; env_token SERVICE_TOKEN=«{h40}» ;; env_short ADMIN_PASS=«{Q10}»
yaml_password database:\n  user: app\n  password: «{Q14}»\n  pool: 5 ;; yaml_quoted auth:\n  secret: "«{P3}»" ;; yaml_api_key api_key: «{h32}» ;; compose environment:\n  - POSTGRES_USER=app\n  - POSTGRES_PASSWORD=«{Q14}» ;; compose_map environment:\n  MYSQL_ROOT_PASSWORD: «{P3}»
json_password {"user": "app", "password": "«{P3}»", "port": 5432} ;; json_tight {"apiKey":"«{A36}»"} ;; json_camel {"clientId": "web", "clientSecret": "«{W32}»"} ;; json_oauth {"access_token":"«{W60}»","token_type":"bearer","refresh_token":"«{W60}»"}
toml_password [server]\npassword = "«{P3}»" ;; toml_token auth_token = '«{A40}»' ;; ini_password [client]\nuser=root\npassword=«{Q14}» ;; ini_secret [app]\nsecret = «{A32}»
python_assign password = "«{P3}»" ;; python_kwarg client = Client(host="db", api_key="«{A32}»") ;; python_dict config = {'user': 'app', 'passwd': '«{Q12}»'} ;; python_default token = os.environ.get("TOKEN", "«{A40}»")
js_const const apiSecret = '«{A32}»'; ;; js_object headers: { 'x-auth-token': '«{h40}»' }, ;; js_process process.env.DB_PASS = "«{Q14}»"; ;; ts_field private readonly password: string = "«{P3}»"; ;; go_short apiToken := "«{A40}»" ;; go_struct Config{User: "app", Password: "«{P3}»"} ;; rust_const const API_KEY: &str = "«{A32}»";
java_properties db.password=«{Q14}» ;; java_field private static final String SECRET_KEY = "«{A32}»"; ;; csharp var password = @"«{P3}»"; ;; ruby_hash password: '«{Q14}»', ;; php_array 'password' => '«{P3}»', ;; spring spring.datasource.username=app\nspring.datasource.password=«{Q14}»
xml_element <password>«{P3}»</password> ;; xml_attribute <add key="ApiKey" value="«{A32}»" /> ;; maven <server><id>nexus</id><username>ci</username><password>«{Q16}»</password></server> ;; plist <key>ClientSecret</key>\n<string>«{A32}»</string>
shell_export export API_TOKEN=«{A40}» ;; shell_quoted export DB_PASSWORD='«{P3}»' ;; shell_inline MYSQL_PWD=«{Q14}» mysql -u root shop ;; powershell $env:API_SECRET = "«{A32}»" ;; cmd_set set DB_PASSWORD=«{Q14}» ;; fish set -x SECRET_TOKEN «{A32}»
docker_env ENV ADMIN_PASSWORD=«{Q14}» ;; docker_env_space ENV SECRET_KEY «{A32}» ;; docker_arg docker build --build-arg NPM_TOKEN=«{h36}» . ;; docker_run docker run -e DB_PASSWORD=«{Q14}» -p 80:80 app ;; github_action        env:\n          API_SECRET: «{A32}»
header_basic Authorization: Basic «{C14}» ;; header_bearer Authorization: Bearer «{W43}» ;; header_token Authorization: Token «{h40}» ;; header_cookie Cookie: theme=dark; sessionid=«{l32}»; csrftoken=«{A64}» ;; header_set_cookie Set-Cookie: connect.sid=s%3A«{W32}.{A43}»; Path=/; HttpOnly
header_api_key X-Api-Key: «{A40}» ;; header_private PRIVATE-TOKEN: «{W20}» ;; header_proxy Proxy-Authorization: Basic «{C12}» ;; header_json {"headers": {"Authorization": "Bearer «{W48}»"}}
curl_user curl -u admin:«{P3}» https://api.example.com/v1 ;; curl_long curl --user 'ci:«{Q16}»' https://nexus.example.com ;; curl_header curl -H "X-Auth-Token: «{h40}»" https://api.example.com ;; curl_bearer curl -H 'Authorization: Bearer «{A40}»' https://api.example.com ;; curl_form curl -d 'username=ann&password=«{Q14}»' https://example.com/login
wget wget --user=ann --password=«{Q14}» https://example.com/f ;; httpie http -a ann:«{Q14}» example.com/api ;; mysql_p mysql -u root -p«{Q14}» shop ;; mysql_long mysqldump --user=root --password=«{P3}» shop ;; pgpassword PGPASSWORD=«{Q14}» psql -h db -U app orders ;; sshpass sshpass -p '«{P3}»' ssh root@10.0.0.5
redis_cli redis-cli -h cache -a «{Q20}» ping ;; docker_login docker login -u ann -p «{Q16}» registry.example.com ;; docker_stdin echo "«{Q16}»" | docker login -u ann --password-stdin ;; mongo mongosh --username admin --password «{Q14}» ;; sqlcmd sqlcmd -S sql -U sa -P '«{P3}»' ;; openssl openssl enc -aes-256-cbc -pass pass:«{Q14}» -in a -out b
chpasswd echo 'root:«{Q12}»' | chpasswd ;; ldapsearch ldapsearch -D cn=admin,dc=example -w «{Q14}» ;; smb smbclient //srv/share -U ann%«{Q12}» ;; kubectl_create kubectl create secret generic db --from-literal=password=«{Q14}» ;; helm_set helm install db --set auth.password=«{Q14}» ./chart ;; create_user CREATE USER 'app'@'%' IDENTIFIED BY '«{P3}»'; ;; alter_role ALTER ROLE app WITH PASSWORD '«{Q14}»';
netrc machine api.example.com login ci password «{Q16}» ;; netrc_lines machine git.example.com\n  login ann\n  password «{Q16}» ;; pgpass db.internal:5432:orders:app:«{Q14}» ;; docker_config {"auths":{"https://index.docker.io/v1/":{"auth":"«{C16}»"}}} ;; git_credentials https://ann:«{Q20}»@git.example.com
kube_data apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: «{E14}»\n  api-key: «{E32}» ;; kube_string apiVersion: v1\nkind: Secret\nstringData:\n  password: "«{P3}»"\n  pin: «{Q12}» ;; kube_env - name: DB_PASSWORD\n  value: «{Q14}» ;; kube_token users:\n- name: admin\n  user:\n    token: «{A40}»
ado_net Server=sql.internal;Database=shop;User Id=sa;Password=«{P3}»;Encrypt=True ;; ado_json "ConnectionStrings": {"Default": "Data Source=sql;Initial Catalog=a;User ID=sa;Pwd=«{Q14}»"} ;; libpq host=db.internal user=app password=«{Q14}» dbname=orders ;; go_dsn root:«{Q14}»@tcp(10.0.0.7:3306)/shop?parseTime=true
otpauth otpauth://totp/Acme:ann@example.com?secret=«{V32}»&issuer=Acme ;; totp_env TOTP_SECRET=«{V32}» ;; htpasswd_apr1 ann:$apr1${A8}$«{A22}» ;; htpasswd_bcrypt ann:$2y$10$«{A53}» ;; shadow root:$6${A16}$«{A86}»:19700:0:99999:7::: ;; shadow_yescrypt ann:$y$j9T${A22}$«{A43}»:19700:0:99999:7:::
mnemonic12 Seed phrase: «{M12}» ;; mnemonic24 MNEMONIC="«{M24}»" ;; eth_key PRIVATE_KEY=0x«{h64}» ;; npmrc //registry.npmjs.org/:_authToken=«{G0}» ;; npmrc_auth _auth=«{C16}» ;; npmrc_password //nexus.example.com/:_password="«{E16}»" ;; pypirc [pypi]\nusername = ann\npassword = «{Q18}» ;; pip_url --extra-index-url https://ci:«{Q18}»@pypi.example.com/simple
ansible ansible_password: «{Q14}» ;; ansible_become ansible_become_pass=«{P3}» ;; ansible_inventory web1 ansible_user=root ansible_ssh_pass=«{Q14}» ;; terraform_var variable "db_password" {\n  default = "«{P3}»"\n} ;; terraform_tfvars master_password = "«{Q16}»" ;; terraform_provider   secret_key = "«{B40}»"
rails_key secret_key_base: «{h128}» ;; rails_master RAILS_MASTER_KEY=«{h32}» ;; django_key SECRET_KEY = '«{Z50}»' ;; flask_key app.secret_key = "«{h48}»" ;; laravel_key APP_KEY=base64:«{B43}»= ;; wp_password define('DB_PASSWORD', '«{Q16}»'); ;; wp_salt define( 'AUTH_KEY', '«{X64}»' ); ;; jwt_secret JWT_SECRET=«{h64}»
aws_credentials [default]\naws_access_key_id = «AK¦IA{V16}»\naws_secret_access_key = «{B40}» ;; aws_env AWS_SECRET_ACCESS_KEY=«{B40}» ;; aws_json "SecretAccessKey": "«{B40}»", ;; aws_yaml aws_secret_key: "«{B40}»" ;; gcp_json "client_secret": "«{W24}»", ;; azure_env AZURE_CLIENT_SECRET=«{W34}»
query_token https://api.example.com/v1/items?page=2&access_token=«{A40}» ;; query_key https://api.example.com/v1?api_key=«{h32}»&format=json ;; query_password GET /login?user=ann&password=«{Q14}» HTTP/1.1 ;; query_code https://app.example.com/cb?state=xyz&code=«{W43}»&scope=openid ;; reset_link https://app.example.com/reset-password?token=«{W43}» ;; fragment https://app.example.com/#id_token=«{W60}»&token_type=bearer
chat_password The admin password is «{P3}» and please keep it safe. ;; chat_login Login: ann@example.com / Password: «{Q12}» ;; chat_key here is my api key: «{A40}» ;; wifi WIFI:T:WPA;S:office;P:«{Q14}»;; ;; wpa network={\n  ssid="office"\n  psk="«{Q14}»"\n} ;; snmp snmp-server community «{Q12}» RO ;; cisco enable secret 5 $1${A4}$«{A22}»
log_line 2024-05-01T10:00:00Z DEBUG connecting with user=app password=«{Q14}» timeout=30 ;; gradle signing.password=«{Q14}» ;; keystore keytool -storepass «{Q14}» -alias app ;; rclone [remote]\ntype = sftp\npass = «{W40}» ;; s3cmd secret_key = «{B40}» ;; sudo echo «{Q12}» | sudo -S reboot ;; git_header git -c http.extraHeader="Authorization: Basic «{C20}»" fetch
""")


def _each(form: Callable[[str], str]) -> Callable[[str], str]:
    """Treat each line that is not blank by itself."""
    return lambda text: "\n".join(
        form(x) if x.strip() else x for x in text.splitlines()
    )


def _escaped(text: str) -> str:
    """Write a text as JSON with the escapes that Go and .NET use."""
    body = json.dumps(text)[1:-1].replace('\\"', "\\u0022")
    for char in "=<>&'+":
        body = body.replace(char, f"\\u{ord(char):04x}")
    return f'{{"value":"{body}"}}'


_RED, _OFF = "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
POSITIONS: dict[str, Callable[[str], str]] = {
    "alone": lambda t: t,
    "sentence": lambda t: (
        f"I found {t} in the log, please rotate it."
        if "\n" not in t
        else f"I found:\n{t}\nin the log."
    ),
    "line_end": lambda t: f"The first line.\nThe leaked value was: {t}\nThe last line.",
    "full_stop": lambda t: f"Do not use {t}.",
    "parentheses": lambda t: f"see the old value ({t}), which is gone",
    "code_block": lambda t: f"Run this:\n\n```\n{t}\n```\n\nThen wait.",
    "inline_code": lambda t: "Set " + _each(lambda x: f"`{x}`")(t) + " first.",
    "italics": _each(lambda x: f"_{x}_"),
    "bold": _each(lambda x: f"**{x}**"),
    "quotes": lambda t: f'He wrote "{t}" yesterday.',
    "single_quotes": lambda t: f"He wrote '{t}' yesterday.",
    "json_value": lambda t: json.dumps({"type": "text", "text": t}),
    "json_in_json": lambda t: json.dumps({"line": json.dumps({"content": t})}),
    "json_escapes": _escaped,
    "json_first_char": lambda t: (
        f'{{"text": "\\u{ord(t[0]):04x}{json.dumps(t[1:])[1:-1]}"}}'
    ),
    "percent": lambda t: urllib.parse.quote(t, safe=""),
    "html": lambda t: f"<p>{html.escape(t)}</p>",
    "ansi_before": _each(lambda x: f"{_RED}{x}{_OFF}"),
    "ansi_inside": _each(lambda x: f"{_RED}{x[:4]}{_OFF}{x[4:]}"),
    "diff": _each(lambda x: "+" + x),
    "cat_n": lambda t: "\n".join(
        f"{n:6d}\t{x}" for n, x in enumerate(t.splitlines(), 9)
    ),
    "grep_n": lambda t: "\n".join(
        f"app/conf.d/x.env:{n}:{x}" for n, x in enumerate(t.splitlines(), 9)
    ),
    "shell": lambda t: f"echo {shlex.quote(t)} > /tmp/out",
    "python_repr": lambda t: f"config = {{'value': {t!r}}}",
    "url_query": lambda t: (
        f"https://example.com/search?q={urllib.parse.quote(t, safe='')}&page=1"
    ),
    "markdown_table": _each(lambda x: f"| name | {x} | yes |"),
    "crlf": lambda t: f"before\r\n{t}\r\nafter\r\n",
}


def _unescape(text: str) -> str:
    """Undo the escapes of JSON, JavaScript and Python strings once."""

    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "ux" and len(code) > 1:
            return chr(int(code[1:], 16))
        return {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}.get(code, code)

    return re.sub(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\"'\\/bfnrt])", one, text)


def _readings(text: str) -> set[str]:
    """Return a text as it stands, and as read with its encodings undone in any order."""
    found, todo = {text}, [text]
    while todo:
        now = todo.pop()
        steps = {re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", now), _unescape(now)}
        new = (steps | {urllib.parse.unquote(now), html.unescape(now)}) - found
        found |= new
        todo += new
    return {re.sub(r"\s+", "", reading) for reading in found}


def survives(secret: str, output: str) -> bool:
    """Tell whether 12 characters in a row of a secret (all if shorter) are left."""
    outputs = _readings(output)
    for reading in _readings(secret):
        size = min(12, len(reading))
        pieces = {reading[i : i + size] for i in range(len(reading) - size + 1)} - {""}
        if any(piece in out for piece in pieces for out in outputs):
            return True
    return False


_NEGATIVE_RNG = Random(2024)
NEGATIVES: list[str] = [
    _fill(entry, _NEGATIVE_RNG)
    for entry in _entries(r"""
id: {G0} ;; request_id={G0} ;; {"traceId": "{h32}", "spanId": "{h16}"} ;; commit {h40} ;; Merge: {h7} {h7} ;; index {h7}..{h7} 100644 ;; HEAD is now at {h7} Fix the token parser ;; "gitHead": "{h40}", ;; uses: actions/checkout@{h40} # v4.1.1
{h64}  dist/app-1.2.0.tar.gz ;; sha256:{h64} ;; FROM python:3.11-slim@sha256:{h64} ;; MD5 (a.iso) = {h32} ;; "integrity": "sha512-{B86}==", ;; resolved "https://registry.yarnpkg.com/lodash/-/lodash-4.17.21.tgz#{h40}" ;; checksum = "{h64}" ;; --hash=sha256:{h64}
    {file = "idna-3.7-py3-none-any.whl", hash = "sha256:{h64}"}, ;; golang.org/x/crypto v0.21.0 h1:{B43}= ;; golang.org/x/crypto v0.21.0/go.mod h1:{B43}= ;; <script src="a.js" integrity="sha384-{B64}" crossorigin="anonymous"></script> ;; "contentHash": "{h32}", ;; ETag: "{h32}"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg== ;; data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7 ;; src: url(data:font/woff2;base64,d09GMgABAAAAA{B80}) ;; nix sha256-{B43}=
password: str ;; password: Optional[str] = None ;; password: string; ;; token?: string | null; ;; secret: bytes, ;; def login(user: str, password: str) -> Token: ;; func NewClient(apiKey string, secret string) *Client { ;; private String password; ;; public string ApiKey { get; set; } ;; pub token: Option<String>,
token = get_token() ;; password = getpass.getpass("Password: ") ;; api_key = os.environ["API_KEY"] ;; const token = await getAccessToken(); ;; secret := os.Getenv("CLIENT_SECRET") ;; String password = System.getenv("DB_PASSWORD"); ;; api_key = config.get("openai", "api_key") ;; self.password = password ;; this.accessToken = response.data.access_token;
password = hash_password(form.cleaned_data["password"]) ;; token = secrets.token_urlsafe(32) ;; client_secret = var.client_secret ;; password = data.aws_secretsmanager_secret_version.db.secret_string ;; const apiKey = process.env.OPENAI_API_KEY; ;; auth_token = request.headers.get("X-Auth-Token") ;; key = keyring.get_password("service", "user")
max_tokens=1024 ;; "max_output_tokens": 8192, ;; total_tokens: 15230 ;; prompt_tokens=812 completion_tokens=97 ;; {"input_tokens": 4213, "cache_read_input_tokens": 120984, "output_tokens": 311} ;; token_count = len(tokens) ;; tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased") ;; pad_token_id=50256 ;; password_min_length = 12
"password": "<password>" ;; "password": "your-password-here" ;; API_KEY=${API_KEY} ;; API_KEY=$API_KEY ;; DB_PASSWORD=changeme ;; password: "********" ;; OPENAI_API_KEY=sk-... ;; GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ;; token: "{{ vault_token }}" ;; password: !vault | ;; apiKey: "<YOUR_API_KEY>" ;; SECRET_KEY= ;; PASSWORD=""
token: ${{ secrets.GITHUB_TOKEN }} ;; NPM_TOKEN: ${{ secrets.NPM_TOKEN }} ;; password: {{ .Values.db.password | quote }} ;; secret: null ;; api_key: None ;; password = None ;; token = "" ;; "token": null, ;; api_secret: REDACTED ;; password=[REDACTED] ;; "access_token": "***" ;; client_secret: '<redacted>' ;; password=%s
secret_name: my-secret ;; secretName: tls-certificate ;; secretKeyRef:\n  name: db-credentials\n  key: password ;; valueFrom:\n  secretKeyRef:\n    name: app-secrets\n    key: api-key ;; imagePullSecrets:\n  - name: registry-credentials ;; password_file: /run/secrets/db_password ;; POSTGRES_PASSWORD_FILE=/run/secrets/pg_password ;; existingSecret: postgres-auth
type Credentials = { username: string; password: string; token?: string }; ;; interface AuthState { accessToken: string | null; refreshToken: string | null } ;; type TokenType = 'access' | 'refresh'; ;; export type ApiKeyProps = Omit<KeyProps, 'secret'>; ;; password: z.string().min(8).max(128), ;; password: yup.string().required("Password is required"), ;; token: PropTypes.string.isRequired,
password = models.CharField(max_length=128) ;; t.string "password_digest", null: false ;; password VARCHAR(255) NOT NULL, ;; ALTER TABLE users ADD COLUMN reset_token_expires_at timestamptz; ;; SELECT id, password_hash FROM users WHERE email = $1 ;; CREATE INDEX idx_api_keys_user_id ON api_keys (user_id); ;; hashed_password: Mapped[str] = mapped_column(String(255))
<input type="password" name="password" id="password" autocomplete="current-password" /> ;; <label for="new_password">New password</label> ;; <input type="hidden" name="csrf_token" value="{{ csrf_token() }}"> ;; <button aria-label="Show password">Show</button> ;; <a href="/forgot-password">Forgot your password?</a> ;; <TextField label="API key" value={apiKey} onChange={setApiKey} />
.password-field { border: 1px solid #c0ffee; } ;; .token.keyword { color: #07a; } ;; input[type="password"]::placeholder { color: #999999; } ;; --color-token-string: #0a3069; ;; #secret-panel { display: none; } ;; background: linear-gradient(90deg, #1a2b3c 0%, #4d5e6f 100%);
PASSWORD_RE = re.compile(r"(?i)password\s*[:=]\s*(\S+)") ;; ^(?=.*[A-Z])(?=.*\d)[A-Za-z\d@$!%*?&]{8,}$ ;; const TOKEN_PATTERN = /gh[pousr]_[A-Za-z0-9]{36}/g; ;; regex = '''AKIA[0-9A-Z]{16}''' ;; grep -rniE "api[_-]?key|secret|password" src/ ;; if (/bearer\s+/i.test(header)) { ;; "pattern": "^sk-[a-zA-Z0-9]{48}$"
Authorization: Bearer $TOKEN ;; Authorization: Bearer <token> ;; curl -H "Authorization: Bearer ${ACCESS_TOKEN}" https://api.example.com ;; curl -u "$USER:$PASSWORD" https://example.com ;; Authorization: Basic <credentials> ;; WWW-Authenticate: Bearer realm="example", error="invalid_token" ;; WWW-Authenticate: Basic realm="Restricted area" ;; headers["Authorization"] = f"Bearer {token}" ;; X-Api-Key: YOUR_API_KEY
Access-Control-Allow-Headers: Authorization, X-Api-Key, X-CSRF-Token ;; securitySchemes: { bearerAuth: { type: http, scheme: bearer, bearerFormat: JWT } } ;; "scope": "openid profile email offline_access" ;; grant_type=refresh_token&client_id=web ;; response_type=code&code_challenge_method=S256 ;; token_endpoint: https://login.example.com/oauth2/token
postgresql://user:password@localhost:5432/mydb ;; postgres://$DB_USER:$DB_PASS@$DB_HOST/app ;; mongodb://<username>:<password>@cluster0.example.net ;; redis://localhost:6379/0 ;; amqp://rabbitmq:5672 ;; https://user@github.com/acme/app.git ;; git@github.com:acme/app.git ;; ssh://git@10.0.0.5:2222/app.git ;; mysql -u root -p shop ;; psql -h db.internal -U app -W orders
BASE16("foobar") = "666F6F626172" ;; BASE64("foobar") = "Zm9vYmFy" ;; MD5 ("message digest") = f96b697d7cb7938d525a2f31aaf161d0 ;; Key = 0x0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b ;; Data = 4869205468657265  ("Hi There") ;; P = "password" (8 octets), S = "salt" (4 octets), c = 1, dkLen = 20 ;; DK = 0c60c80f961f0e71f3a9b524af6012062fe037a6
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 ;; IV: 000102030405060708090a0b0c0d0e0f ;; abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/ ;; 0x5FbDB2315678afecb367f032d93F642f64180aa3 ;; tx 0x{h64} mined in block 19284756 ;; bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq
from app.auth.tokens import create_access_token, verify_refresh_token_signature ;; import { usePasswordResetMutation } from '@/hooks/usePasswordResetMutation'; ;; import secrets ;; from django.contrib.auth.password_validation import validate_password ;; com.example.security.authentication.UsernamePasswordAuthenticationToken ;; class InvalidTokenSignatureVerificationError(AuthenticationError):
test_password_reset_token_expires_after_twenty_four_hours PASSED ;; src/components/ApiKeyManagementSettingsPage.test.tsx ;; ERROR: password authentication failed for user "app" ;; fatal: Authentication failed for 'https://github.com/acme/app.git/' ;; SyntaxError: Unexpected token < in JSON at position 0 ;; Error: secret "db-credentials" not found ;; remote: Invalid username or password.
Passwords must be at least 12 characters long and must not be reused. ;; The access token expires after one hour; use the refresh token to get a new one. ;; Your API key is shown only once, so store it in a password manager. ;; The secret: practice every day. ;; Password: required, 8 to 64 characters ;; token: the bearer token to send ;; Never commit secrets to the repository. ;; The key is under the doormat.
Each token is about four characters of English text. ;; See "Password hashing" in chapter 7. ;; We pass the password as an argument, which ps shows. ;; The password is stored as a bcrypt hash. ;; password - the user's password (string, required) ;; @param {string} token The session token. ;; :param api_key: Your API key, or None to read it from the environment. ;; --password-stdin    Take the password from stdin
Passwort: Bitte eingeben ;; "password": "Mot de passe", ;; "forgotPassword": "¿Olvidaste tu contraseña?", ;; password: パスワード ;; "apiKey": "Clé d’API", ;; "label.password.confirm": "Kennwort wiederholen", ;; token=令牌 ;; "secret": "Geheimnis", ;; login.password.placeholder=Introduzca su contraseña
| `DB_PASSWORD` | Password of the database user | required | ;; | `API_TOKEN` | string | `""` | Token for the public API | ;; | `JWT_SECRET` | Signs the sessions; at least 32 bytes | none | ;; - `STRIPE_SECRET_KEY`: your secret key from the Stripe dashboard ;; # SECRET_KEY: change this in production ;; `--token TOKEN`  GitHub token (default: $GITHUB_TOKEN)
kubectl get secret db-credentials -o yaml ;; kubectl create secret generic db --from-file=password.txt ;; kubectl describe secret default-token-x7k2p ;; vault kv get -field=password secret/db ;; aws secretsmanager get-secret-value --secret-id prod/db/password ;; gh auth token ;; gcloud auth print-access-token ;; docker login -u ann --password-stdin ;; op read op://vault/item/password ;; openssl rand -hex 32 ;; ssh-keygen -t ed25519 -C me@example.com
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{B43} me@host ;; ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC{B120}== ann@laptop ;; -----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE{B28}\n{B58}==\n-----END PUBLIC KEY----- ;; -----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIE{B44}\n{B64}\n{B64}\n{B42}==\n-----END CERTIFICATE----- ;; 256 SHA256:{B43} me@host (ED25519)
-----BEGIN CERTIFICATE REQUEST-----\nMIICijCCAXICAQAw{B48}\n{B62}==\n-----END CERTIFICATE REQUEST----- ;; -----BEGIN PGP SIGNATURE-----\n\niQIzBAABCAAdFiEE{B48}\n{B64}\n=aB3d\n-----END PGP SIGNATURE----- ;; age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p ;; PublicKey = {B43}= ;; certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t{B80}==
arn:aws:iam::123456789012:role/DeployRole ;; arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/db/password-AbCdEf ;; arn:aws:kms:eu-west-1:123456789012:key/{G0} ;; pk¦_live_{A24} ;; pk¦_test_51{A97} ;; ami-0{h16} subnet-0{h16} sg-0{h16} ;; i-0{h16} ;; projects/acme/secrets/db-password/versions/3 ;; price_1{A23} ;; cus_{A14} ;; req_{A14} ;; msg_01{A22} ;; toolu_01{A22}
https://docs.example.com/guides/authentication/api-keys#rotate-a-secret-key ;; https://www.youtube.com/watch?v={W11} ;; https://docs.google.com/document/d/1{W43}/edit ;; /usr/lib/python3.11/site-packages/keyring/backends/SecretService.py ;; "client_id": "{D12}-{l32}.apps.googleusercontent.com", ;; VITE_SENTRY_DSN=https://{h32}@o12345.ingest.sentry.io/678 ;; G-{U10} UA-{D8}-1 GTM-{U7} ;; phc_{A43}
const ACTION_TYPES = { SET_TOKEN: 'auth/SET_TOKEN', CLEAR_TOKEN: 'auth/CLEAR_TOKEN' }; ;; TOKEN_STORAGE_KEY = "app.session.token" ;; localStorage.removeItem('access_token'); ;; if password == confirm_password: ;; assert token is not None ;; return jsonify({"error": "invalid token"}), 401 ;; case TokenKind.StringLiteral: return parseString(token); ;; secretsDir: ./config/secrets ;; passwordless: true ;; use_token_auth=True ;; password_reset_timeout: 259200
""")
]


if __name__ == "__main__":
    print(
        f"definite {len(DEFINITE)}, contextual {len(CONTEXTUAL)}, positions {len(POSITIONS)}, negatives {len(NEGATIVES)}"
    )
