"""Secrets that are known by their structure: tokens, URLs, signed requests."""

from __future__ import annotations

from leslied.redact.rules._rule import UUID, WORD_END, WORD_START, Rule

_BASE64_KEY = r"[A-Za-z0-9+/]{20,100}={0,2}"

_TOKENS = (
    Rule(
        "jwt",
        ("eyj",),
        WORD_START + r"eyJ[\w-]{8,4000}\.[\w-]{0,8000}\.[\w-]{8,8000}"
        r"(?:\.[\w-]{8,4000}){0,2}",
        after=20_000,
    ),
    Rule(
        "terraform",
        (".atlasv1.",),
        r"\.atlasv1\.[\w=-]{50,80}",
        lead="[A-Za-z0-9]{14}",
    ),
    Rule(
        "telegram",
        (":aa",),
        rf":AA[\w-]{{32,35}}{WORD_END}",
        lead=rf"{WORD_START}\d{{8,10}}",
    ),
    Rule("maxmind", ("_mmk",), "_mmk", lead="[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"),
    Rule("mailchimp", ("-us",), rf"-us\d{{1,2}}{WORD_END}", lead="[a-f0-9]{32}"),
    Rule(
        "azure-client-secret",
        ("q~",),
        r"Q~[\w~.-]{31,34}",
        lead=rf"{WORD_START}[\w~.]{{3}}\d",
    ),
    Rule(
        "azure-devops",
        ("azdo",),
        "AZDO[A-Za-z0-9]{4}",
        lead="[A-Za-z0-9]{76}",
        before=80,
    ),
    Rule("new-relic-license", ("nral",), f"NRAL{WORD_END}", lead="[a-f0-9]{36}"),
    Rule(
        "jwk",
        ('"d"', '"d "', "'d'", "'d '", '"k"', '"k "', "'k'", "'k '"),
        r"[\"'][dk]\s?[\"']\s{0,3}:\s{0,3}[\"'](?P<secret>[\w-]{40,700})",
        after=750,
    ),
    Rule(
        "kubernetes-key",
        ("client-key-data", "client_key_data"),
        r"client[_-]key[_-]data[\"']?\s?[:=]\s{0,3}[\"']?(?P<secret>[\w+/]{40,8000}={0,2})",
        after=9000,
    ),
    Rule(
        "azure-registry",
        ("+acr",),
        r"\+ACR[A-Za-z0-9+/]{6,10}",
        lead="[A-Za-z0-9+/]{36,46}",
        before=50,
    ),
    Rule(
        "minisign",
        ("minisign encrypted secret key",),
        r"minisign encrypted secret key\s{1,3}(?P<secret>[A-Za-z0-9+/=]{60,400})",
    ),
    Rule(
        "vault-unseal",
        ("unseal key",),
        r"(?i:unseal key)(?: \d{1,2})?:\s{1,3}(?P<secret>[A-Za-z0-9+/]{40,80}={0,2})",
    ),
    Rule(
        "azure-service-key",
        (
            "azfu",
            "azse",
            "azca",
            "acdb",
            "+ast",
            "aiot",
            "+aeh",
            "+asb",
            "+arm",
            "+amc",
        ),
        rf"(?:Az(?:Fu|Se|Ca)|ACDb|AIoT|\+(?:ASt|AEh|ASb|ARm|AMC))[\w+/-]{{4,10}}={{0,2}}"
        rf"{WORD_END}",
        lead=rf"{WORD_START}[\w+/-]{{32,80}}",
        before=90,
    ),
    Rule(
        "azure-ai",
        ("acog", "jqqj99"),
        r"(?:JQQJ99[A-Za-z0-9]{20,40}|ACOG[A-Za-z0-9]{4})",
        lead=rf"{WORD_START}[A-Za-z0-9]{{40,80}}",
        before=90,
    ),
    Rule(
        "rapidapi-key",
        ("msh",),
        rf"msh[a-z0-9]{{16,20}}p1[a-z0-9]{{4,8}}jsn[a-z0-9]{{10,14}}{WORD_END}",
        lead=rf"{WORD_START}[a-z0-9]{{10}}",
    ),
    Rule(
        "asana-token",
        ("1/", "2/"),
        rf"{WORD_START}[12]/(?:\d{{12,20}}/)?\d{{12,20}}:[a-f0-9]{{32}}{WORD_END}",
    ),
    Rule(
        "new-relic-mobile",
        ("-nrma",),
        "-NRMA",
        lead="(?:AA|eu01xx)[a-f0-9]{36,40}",
        before=60,
    ),
    Rule(
        "encoded-jwt",
        ("zxlkagjhy2lpau", "zxlkaafk"),
        rf"{WORD_START}ZXlK[A-Za-z0-9+/]{{60,8000}}={{0,2}}",
        after=9000,
    ),
    Rule("salesforce", ("00d",), r"00D[A-Za-z0-9]{9,15}![\w.-]{60,260}"),
    Rule("tableau", ("==:",), r"==:[A-Za-z0-9]{32}", lead="[A-Za-z0-9+/]{22}"),
    Rule(
        "authress",
        (".acc_", ".acc-"),
        r"\.acc[_-][a-z0-9-]{10,32}\.[\w+/=-]{30,120}",
        lead=r"(?:sc|ext|scauth|authress)_\w{5,30}\.\w{4,6}",
        before=60,
    ),
)
_UNPREFIXED_TOKENS = (
    Rule(
        "discord-bot",
        (".g", ".x", ".y", ".z"),
        rf"\.[GXYZ][\w-]{{5}}\.[\w-]{{27,40}}{WORD_END}",
        lead=rf"{WORD_START}[MNO][\w-]{{22,26}}",
        after=100,
    ),
    Rule(
        "bitwarden-token",
        ("0.",),
        rf"{WORD_START}0\.{UUID}\.[A-Za-z0-9]{{30}}:[A-Za-z0-9+/]{{22}}==",
        after=150,
    ),
    Rule(
        "kubeadm-token",
        ("--token ", "--token=", "--token: "),
        rf"--token[ =](?P<secret>[a-z0-9]{{6}}\.[a-z0-9]{{16}}){WORD_END}",
    ),
    Rule(
        "encoded-private-key",
        # The words BEGIN and PRIVATE KEY in base64, which the first line always has.
        ("ls0tls1crudjti",),
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{0,40}?(?:BSSVZBVEUgS0VZ|UFJJVkFURSBLRV|QUklWQVRFIEtFW)"
        r"[A-Za-z0-9+/]{0,8000}={0,2}",
        after=9000,
    ),
)
_VENDOR = (
    # A key with `pk` in front is public.
    rf"{WORD_START}(?!pk[_-]|pk\Z)[A-Za-z][A-Za-z0-9]{{1,15}}"
    "(?:[_-][A-Za-z][A-Za-z0-9]{1,10}){0,2}"
)
_SECRET_WORDS = ("live", "pat", "sat", "sk", "rk", "secret", "apikey", "oauth", "pst")
_OTHER_WORDS = (
    *(
        "access",
        "admin",
        "api",
        "bot",
        "key",
        "prod",
        "production",
        "refresh",
        "sandbox",
    ),
    *("sec", "server", "service", "svc", "test", "token", "user", "webhook"),
)
_TWO_DIGITS = r"(?=(?:[A-Za-z]{0,30}\d){2})"
_MIXED_CASE = r"(?=[a-z0-9]{0,30}[A-Z])(?=[A-Z0-9]{0,30}[a-z])"


def _make_vendor_rule(words: tuple[str, ...], check: str) -> Rule:
    """Return the rule of tokens with one of these words after their vendor's name."""
    anchors = tuple(f"{mark}{word}{mark}" for mark in "_-" for word in words)
    return Rule(
        "vendor-token",
        anchors,
        rf"[_-](?:{'|'.join(words)})[_-]{check}[A-Za-z0-9]{{24,128}}{WORD_END}",
        lead=_VENDOR,
        before=60,
        after=160,
    )


_VENDOR_TOKENS = (
    # Vendors without a rule of their own, such as `acme_live_…`. Behind the other
    # words, a hash is more common than a token: only mixed case is random there.
    _make_vendor_rule(_SECRET_WORDS, _TWO_DIGITS),
    _make_vendor_rule(_OTHER_WORDS, _TWO_DIGITS + _MIXED_CASE),
)
_CONNECTION_STRINGS = (
    Rule(
        "azure-key",
        ("accountkey", "sharedaccesskey", "accesskey="),
        rf"(?i:AccountKey|SharedAccessKey|AccessKey)\s?=\s?(?P<secret>{_BASE64_KEY})",
        after=150,
    ),
    Rule(
        "signature",
        ("sig=", "signature=", "security-token="),
        r"(?i:sig|signature|security-token)=(?P<secret>[\w%+/.~-]{20,2000}={0,2})",
        lead=r"[?&;](?i:X-(?:Amz|Goog)-)?",
        after=2100,
    ),
    Rule(
        "url-password",
        ("://",),
        r"://[^\s/:\"'<>\\?#]{0,120}:(?P<secret>"
        r"[^\s/\"'<>]{1,200}|(?!\d{1,5}[/?#])[^\s\"'<>@]{1,200}+)@(?=[\w\[$])",
        after=500,
    ),
    Rule(
        "url-password",
        ("://",),
        # Only a web address has an `@` after its host often.
        r"(?<!http)(?<!https)://[^\s/:@\"'<>\\?#]{0,120}:"
        r"(?P<secret>(?!\d{1,5}[/?#])[^\s\"'<>]{1,200})@(?=[\w\[$])",
        after=500,
    ),
    Rule(
        "url-password",
        ("jdbc:oracle:thin:",),
        r"jdbc:oracle:thin:[^\s/@\"']{1,80}/(?P<secret>[^\s@\"']{1,200})@",
    ),
    Rule(
        "url-password",
        ("@tcp(", "@unix("),
        r"@(?:tcp|unix)\(",
        lead=r"[\w.-]{1,60}:(?P<secret>[^\s:@/\"']{1,100})",
        before=170,
    ),
    Rule(
        "url-token",
        ("://",),
        r"://(?P<secret>(?=[A-Za-z_.-]{0,40}\d)[\w.-]{20,200})(?::[^\s@/\"']{0,200}+)?@"
        r"(?=\w)",
        after=300,
    ),
)
_WEBHOOKS = tuple(
    Rule(
        "webhook",
        (host,),
        rf"{host.replace('.', '[.]')}/(?P<secret>{path})",
        after=500,
    )
    for host, path in (
        ("hooks.slack.com", r"(?:services|workflows|triggers)/[A-Za-z0-9/]{20,100}"),
        ("discord.com", r"api/(?:v\d{1,2}/)?webhooks/\d{15,25}/[\w-]{40,100}"),
        ("discordapp.com", r"api/(?:v\d{1,2}/)?webhooks/\d{15,25}/[\w-]{40,100}"),
        ("webhook.office.com", r"webhookb2/[\w@/-]{60,300}"),
        ("outlook.office.com", r"webhook/[\w@/-]{60,300}"),
        ("tines.com", r"webhook/[a-z0-9]{32}/[a-z0-9]{32}"),
        ("hooks.zapier.com", r"hooks/catch/\d{3,12}/\w{5,20}"),
        ("maker.ifttt.com", r"trigger/[\w-]{1,60}/(?:json/)?with/key/[\w-]{20,60}"),
        ("open.feishu.cn", r"open-apis/bot/v2/hook/[\w-]{20,60}"),
        ("open.larksuite.com", r"open-apis/bot/v2/hook/[\w-]{20,60}"),
        ("oapi.dingtalk.com", r"robot/send\?access_token=[a-f0-9]{40,80}"),
        ("qyapi.weixin.qq.com", r"cgi-bin/webhook/send\?key=[\w-]{30,40}"),
        (
            "chat.googleapis.com",
            r"v1/spaces/[\w-]{5,30}/messages\?key=[\w%&=-]{40,200}",
        ),
        ("api.telegram.org", r"bot\d{8,10}:[\w-]{35}"),
        ("hooks.teams.com", r"[\w@/-]{40,300}"),
        ("mattermost.com", r"hooks/[a-z0-9]{26}"),
    )
)

RULES = (
    *_TOKENS,
    *_UNPREFIXED_TOKENS,
    *_VENDOR_TOKENS,
    *_CONNECTION_STRINGS,
    *_WEBHOOKS,
)
