"""Secrets without a prefix, which are known by their length and their vendor's name."""

from __future__ import annotations

from leslied.redact.rules._rule import UUID, WORD_END, Rule
from leslied.redact.rules._speech import SPEECH

_HARMLESS_END = (
    r"(?![\w.-]{0,30}?(?:(?<=[_.-])(?i:ids?|uuid|urls?|uri|host|name|region|version|hash|"
    r"sha|digest|checksum|commit|rev|project|tenant|account|index|org|slug|release|"
    r"branch|tag|zone|site|team|space|board|public|publishable)"
    r"|[a-z](?:Id|Ids|Uuid|Url|Host|Name|Region|Version|Hash|Sha|Commit|Index))"
    r"(?![\w.-]))"
)
"""Names such as `railway_project_id`, whose values are not secret."""
_SPOKEN = r"(?i:key|token|secret|pat|credential|password|cookie|login|seed)s?"
ASSIGNMENT = (
    rf"(?:{_HARMLESS_END}[\w.\-]{{0,30}}+[\"'`\]\s*]{{0,4}}"
    r"(?:=>|:=|==?|:|[,;>|\t]|\s{1,3}value=|\s{1,24}(?:[+-]\s{1,16}"
    r"|\d{1,6} ?[\t|:→]\s{0,24})?value:| to | --body[ =]|\s{0,30}│ ?|</td>\s{0,20}<td>)"
    r"[\"'`\[(\s*]{0,4}"
    rf"|[\w.]{{0,24}}\([\"']|(?<=[A-Z])_[A-Z0-9_]{{2,24}} [\"']?"
    rf"|(?:[ '][A-Za-z]{{1,12}}){{0,3}}[ _]{_SPOKEN}(?:{SPEECH}"
    r"|[\"'`*]{0,3}(?: ?[:=|]| is:?| was| to)?[\s\"'`*_|]{1,6})"
    rf"|[\"']?\s?(?::|=>?)\s?[\[{{]\s{{0,20}}[\"']?\w{{0,16}}{_SPOKEN}[\"']?"
    r"\s?(?::|=>?)\s?[\"']"
    rf"|:\s{{1,20}}\w{{0,16}}{_SPOKEN}: [\"']?)"
)
"""Between a vendor's name and the value: the rest of the name, an operator, quotes; or
a call, the words of a sentence, or the name of a nested key. Lines may be numbered."""

_ROWS = (
    ("airtable", "airtable", r"(?:key\w{14}|pat\w{14}\.[a-f0-9]{64})"),
    ("ably", "ably", r"[\w-]{6}\.[\w-]{6}:[\w-]{43}"),
    ("agora", "agora", "[a-f0-9]{32}"),
    ("alchemy", "alchemy", r"[\w-]{32}"),
    ("algolia", "algolia", "[a-f0-9]{32}"),
    ("amplitude", "amplitude", "[a-f0-9]{32}"),
    ("asana", "asana", r"(?:[a-z0-9]{32}|\d/\d{10,20}:[a-z0-9]{32})"),
    ("assemblyai", "assemblyai", "[a-f0-9]{32}"),
    (
        "aws-secret",
        "secret_access_key secretaccesskey aws_secret aws-secret",
        "[\\w/+]{40}",
    ),
    ("azure-devops-token", "azure_devops azure-devops azuredevops", "[a-z0-9]{52}"),
    ("bitly", "bitly", "[a-f0-9]{40}"),
    ("bittrex", "bittrex", "[a-f0-9]{32}"),
    (
        "bitwarden",
        "bws_ bitwarden",
        rf"0\.{UUID}\.[A-Za-z0-9]{{30}}:[A-Za-z0-9+/]{{22}}==",
    ),
    ("braintree", "braintree", "[a-f0-9]{32}"),
    ("civo", "civo", "[A-Za-z0-9]{50}"),
    ("cloudflare-key", "cloudflare cf_api", "(?:[a-f0-9]{37}|[\\w-]{40})"),
    ("calendly", "calendly", r"[\w-]{43}"),
    ("cloudinary", "cloudinary", r"[\w-]{27}"),
    ("codecov", "codecov", f"(?:{UUID}|[a-z0-9]{{32}})"),
    ("cohere", "cohere co_api", "[A-Za-z0-9]{40}"),
    ("coinbase", "coinbase", r"[\w-]{64}"),
    ("confluent", "confluent", "[A-Za-z0-9+/]{64}"),
    ("convex", "convex", r"(?:prod|dev|preview):[\w-]{1,60}\|[\w=+/-]{30,200}"),
    ("coveralls", "coveralls", "[A-Za-z0-9-]{33,37}"),
    ("datadog-key", "datadog dd_api dd_app", "(?:[a-f0-9]{40}|[a-f0-9]{32})"),
    ("deepgram", "deepgram", "[a-f0-9]{40}"),
    (
        "discord",
        "discord",
        r"(?:[a-f0-9]{64}|[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,40}|[\w-]{32})",
    ),
    ("drone", "drone", "[A-Za-z0-9]{32}"),
    ("facebook-app", "facebook access_token", r"\d{15,16}(?:\||%7C)[\w-]{27,40}"),
    ("ngc", "ngc", f"(?:[A-Za-z0-9]{{84}}|[A-Za-z0-9]{{26}}:{UUID})"),
    ("fal", "fal_key falkey", f"{UUID}:[a-f0-9]{{32}}"),
    ("bitcoin-key", "wif btc_ bitcoin", "[5KL][1-9A-HJ-NP-Za-km-z]{50,51}"),
    ("etsy", "etsy", "[a-z0-9]{24}"),
    ("fastly", "fastly", r"[\w-]{32}"),
    ("finnhub", "finnhub", "[a-z0-9]{20}"),
    ("flickr", "flickr", "[a-f0-9]{16,32}"),
    ("freshbooks", "freshbooks", "[a-f0-9]{64}"),
    ("gladia", "gladia", UUID),
    ("gitea", "gitea forgejo codeberg", "[a-f0-9]{40}"),
    ("gitlab-session", "_gitlab_session gitlab", "[a-f0-9]{32}"),
    ("gumroad", "gumroad", r"[\w-]{43,64}"),
    ("heroku-key", "heroku", UUID),
    ("hetzner", "hcloud hetzner", "[A-Za-z0-9]{64}"),
    ("honeycomb-key", "honeycomb", "(?:[a-f0-9]{32}|[A-Za-z0-9]{22})"),
    ("ibm-cloud", "ibmcloud ibm_cloud", r"[\w-]{42,46}"),
    ("influxdb", "influx", r"[\w-]{80,90}={0,2}"),
    ("intercom", "intercom", r"[\w-]{57,60}={0,2}"),
    ("jenkins", "jenkins", "11[a-f0-9]{32}"),
    ("jumpcloud", "jumpcloud", "[a-z0-9]{40}"),
    ("kaggle", "kaggle", "[a-f0-9]{32}"),
    ("kubeadm", "kubeadm bootstrap", r"[a-z0-9]{6}\.[a-z0-9]{16}"),
    ("kraken", "kraken", "[\\w/+=-]{80,90}"),
    ("linode", "linode", "[a-f0-9]{64}"),
    ("linkedin", "linkedin", "[A-Za-z0-9]{16}"),
    ("looker", "looker", "[A-Za-z0-9]{24}"),
    ("mailgun-key", "mailgun", "[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}"),
    ("mailjet", "mailjet mj_api", "[a-f0-9]{32}"),
    ("meraki", "meraki", "[a-f0-9]{40}"),
    ("messagebird", "messagebird", "[A-Za-z0-9]{25}"),
    ("mistral", "mistral", "[A-Za-z0-9]{32}"),
    ("netlify-key", "netlify", r"[\w-]{40,46}"),
    ("ngrok", "ngrok", r"[A-Za-z0-9]{20,30}_[A-Za-z0-9]{20,30}"),
    ("okta", "okta ssws", r"00[\w-]{40}"),
    ("openweather", "openweather", "[a-f0-9]{32}"),
    ("opsgenie", "opsgenie", UUID),
    ("pagerduty", "pagerduty", r"(?:u\+)?[\w+-]{18,20}"),
    ("plaid-secret", "plaid", "[a-f0-9]{30}"),
    ("postmark", "postmark", UUID),
    ("pusher", "pusher", "[a-f0-9]{20}"),
    ("railway", "railway", UUID),
    ("rapidapi", "rapidapi", r"[A-Za-z0-9_-]{50}"),
    ("rollbar", "rollbar", "[a-f0-9]{32}"),
    ("scaleway-secret", "scaleway scw_secret", UUID),
    ("sendbird", "sendbird", "[a-f0-9]{40}"),
    ("sentry-legacy", "sentry", "[a-f0-9]{64}"),
    ("sidekiq", "contribsys__com", "[a-f0-9]{8}:[a-f0-9]{8}"),
    ("shodan", "shodan", "[A-Za-z0-9]{32}"),
    ("snyk", "snyk", UUID),
    ("spotify", "spotify", "[a-f0-9]{32}"),
    ("sonarcloud", "sonar", "[a-f0-9]{40}"),
    ("splunk", "splunk", UUID),
    ("squarespace", "squarespace", UUID),
    ("strava", "strava", "[a-f0-9]{40}"),
    ("sumologic", "sumologic sumo_", "[A-Za-z0-9]{64}"),
    ("travis", "travis", r"[\w-]{22}"),
    ("trello", "trello", "(?:[a-f0-9]{64}|[a-f0-9]{32})"),
    ("twilio-auth", "twilio", "(?:AC[a-f0-9]{32}:)?[a-f0-9]{32}"),
    ("twitch", "twitch", "[a-z0-9]{30}"),
    ("twitter", "twitter", r"(?:\d{15,25}-)?[A-Za-z0-9]{25,50}"),
    ("vault-secret-id", "vault_secret_id secret_id role_secret_id", UUID),
    ("vault-legacy", "vault", r"s\.[A-Za-z0-9]{24}"),
    ("vercel-token", "vercel", "[A-Za-z0-9]{24}"),
    ("virustotal", "virustotal", "[a-f0-9]{64}"),
    ("vultr", "vultr", "[A-Z0-9]{36}"),
    ("wandb-key", "wandb", "[a-f0-9]{40}"),
    ("zendesk", "zendesk", "[A-Za-z0-9]{40}"),
    ("zhipu", "zhipu zai_api bigmodel", r"[a-f0-9]{32}\.\w{16}"),
)


def _make_rule(kind: str, names: str, value: str) -> Rule:
    """Return the rule of values that are assigned to something of a vendor's name.

    `names` are separated by spaces; `value` is the pattern of a value.
    """
    alternatives = "|".join(names.split())
    digit = r"(?=[A-Za-z_.:|+/-]{0,40}+\d|[A-Za-z]{0,40}[A-Z]{2}[a-z]{1,2}[A-Z])"
    regex = f"(?i:{alternatives}){ASSIGNMENT}(?P<secret>{digit}{value}){WORD_END}"
    return Rule(kind, tuple(names.split()), regex, after=300)


RULES = tuple(_make_rule(*row) for row in _ROWS)
