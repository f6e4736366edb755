"""Secrets that are known by their structure: tokens, URLs, signed requests."""

from __future__ import annotations

from leslied.redact.rules._rule import MIXTURE, UUID, WORD_END, WORD_START, Rule
from leslied.redact.rules._speech import SPEECH

_AT_SIGN = "(?=[^@]{0,321}@)"
"""Requires the `@` behind a password of a URL, as most URLs have none."""
_BASE64_KEY = r"[A-Za-z0-9+/]{20,100}={0,2}"

_TOKENS = (
    Rule(
        "jwt",
        ("eyj", "ewog", "ewoid"),
        WORD_START + r"(?:eyJ|ewog|ewoid)[\w-]{8,4000}\.[\w-]{0,8000}\.[\w-]{8,8000}"
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
        lead=rf"{WORD_START}[\w~.-]{{3}}\d",
    ),
    Rule(
        "azure-devops",
        ("azdo",),
        "AZDO[A-Za-z0-9]{4}",
        lead="[A-Za-z0-9]{76}",
        before=80,
    ),
    Rule(
        "new-relic-license",
        ("nral",),
        f"NRAL{WORD_END}",
        lead="(?:eu01xx[a-fA-F0-9]{30}|[a-fA-F0-9]{36})",
    ),
    Rule(
        "rapidapi-key",
        ("jsn",),
        f"jsn[a-f0-9]{{12}}{WORD_END}",
        lead=rf"{WORD_START}[a-f0-9]{{10}}msh[a-f0-9]{{15}}p[a-f0-9]{{6,7}}",
    ),
    Rule(
        "roblox",
        ("warning:-do-not-share-this",),
        r"WARNING:-DO-NOT-SHARE-THIS[^|\s]{0,200}\\?\|_[A-F0-9]{32,3000}",
        lead=r"_\\?\|",
        after=3300,
    ),
    Rule(
        "django-key",
        ("django-insecure-",),
        r"django-insecure-[a-z0-9!@#$%^&*(_=+)-]{30,80}",
    ),
    Rule(
        "laravel-key",
        ("base64:",),
        rf"{WORD_START}base64:(?:[A-Za-z0-9+/]{{43}}=|[A-Za-z0-9+/]{{22}}==)",
    ),
    Rule(
        "solana",
        ("id.json", "keypair", "solana"),
        r"(?i:id\.json|keypair|solana)[^\[\n]{0,40}[^\[0-9]{0,12}"
        r"(?P<secret>\[(?:\s{0,3}\d{1,3},){63}\s{0,3}\d{1,3}\s{0,3}\])",
    ),
    Rule(
        "xml-key",
        ("<d>", "<p>", "<q>", "<dp>", "<dq>", "<inverseq>"),
        "<(?:D|P|Q|DP|DQ|InverseQ)>(?P<secret>[A-Za-z0-9+/]{60,800}={0,2})(?=<)",
        after=900,
    ),
    Rule(
        "convex-deploy",
        ("prod:", "dev:", "preview:"),
        rf"{WORD_START}(?:prod|dev|preview):[\w-]{{1,60}}\|(?P<secret>[\w=+/-]{{30,200}})",
    ),
    Rule(
        "apple-password",
        ("specific_password", "specific-password", "apple_password"),
        r"(?i:specific[_-]password|apple_password)[\"']?\s{0,3}[:=,]\s{0,3}[\"']?"
        r"(?P<secret>[a-z]{4}(?:-[a-z]{4}){3})",
    ),
    Rule(
        "jwk",
        ('"d"', '"d "', "'d'", "'d '", '"k"', '"k "', "'k'", "'k '"),
        r"[\"'][dk]\s?[\"']{1,2}\s{0,3}:\s{0,3}[\"']{1,2}(?P<secret>[\w-]{40,700})",
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
        r"minisign encrypted secret key[^\n]{0,12}\n?[^\n]{0,60}?[^A-Za-z0-9+/]"
        r"(?P<secret>[A-Za-z0-9+/=]{60,400})",
    ),
    Rule(
        "vault-unseal",
        ("unseal key", "unseal_key"),
        rf"(?i:unseal[ _]key)(?:s?_(?:b64|hex)|[ _]\d{{1,2}})?(?:{SPEECH}"
        r"|[\"'`]?\s?[=: ][\s\"'`\[]{0,12})"
        r"(?P<secret>[A-Za-z0-9+/]{40,80}={0,2})",
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
    Rule(
        "harvest",
        (".pt.",),
        rf"\.pt\.[\w-]{{80,100}}{WORD_END}",
        lead=rf"{WORD_START}\d{{5,9}}",
    ),
    Rule(
        "unleash",
        (":production.", ":development.", ":default.", ":staging.", ":test."),
        rf":[a-z]{{4,11}}\.[a-f0-9]{{56,64}}{WORD_END}",
        lead=r"(?:\*|[\w-]{1,30})",
    ),
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
        (".g", ".h", ".x", ".y", ".z"),
        rf"\.[GHXYZ][\w-]{{5}}\.[\w-]{{27,40}}{WORD_END}",
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
        ("--token ", "--token=", "--token: ", "token create "),
        r"(?:--token[ =]|token create )"
        rf"(?P<secret>[a-z0-9]{{6}}\.[a-z0-9]{{16}}){WORD_END}",
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
    # A key with `pk` in front is public, and `cs` is the id of a checkout at Stripe.
    rf"{WORD_START}(?!pk[_-]|(?:pk|cs)\Z)[A-Za-z][A-Za-z0-9]{{1,15}}"
    "(?:[_-][A-Za-z][A-Za-z0-9]{1,10}){0,2}"
)
_SECRET_WORDS = (
    *("live", "pat", "sat", "sk", "rk", "secret", "apikey", "oauth", "pst", "oat"),
    *("tok", "tkn", "priv", "private", "cred", "auth", "uat", "srv", "svcacct"),
)
_OTHER_WORDS = (
    *("access", "admin", "api", "at", "bot", "cli", "deploy", "dev", "key", "mcp"),
    *("personal", "prod", "production", "refresh", "ro", "rt", "rw", "sandbox", "sec"),
    *("server", "service", "staging", "svc", "test", "token", "user", "v1", "v2", "v3"),
    *("webhook",),
)
_API_WORDS = ("access", "admin", "api", "refresh", "sandbox", "token")
_TWO_DIGITS = r"(?=(?:[A-Za-z]{0,30}\d){2})"
_MIXED_CASE = r"(?=[a-z0-9]{0,30}[A-Z])(?=[A-Z0-9]{0,30}[a-z])"
_MIXTURE = rf"{MIXTURE}(?=[\w-]{{0,40}}[A-Z])"


def _make_vendor_rule(words: tuple[str, ...], marks: str, rest: str) -> Rule:
    """Return the rule of tokens with one of these words after their vendor's name."""
    return Rule(
        "vendor-token",
        tuple(f"{mark}{word}{mark}" for mark in marks for word in words),
        rf"[{marks}](?:{'|'.join(words)})[{marks}]{rest}{WORD_END}",
        lead=_VENDOR,
        before=60,
        after=200,
    )


_VENDOR_TOKENS = (
    # Vendors without a rule of their own, such as `acme_live_…`. Behind the other
    # words, a hash is more common than a token: only mixed case is random there, or
    # what has no hyphen, unlike the tag of an image.
    _make_vendor_rule(
        _SECRET_WORDS,
        "_-",
        rf"(?:{_TWO_DIGITS}[A-Za-z0-9]{{24,128}}|{_MIXTURE}[\w-]{{24,128}}|{UUID})",
    ),
    _make_vendor_rule(
        _OTHER_WORDS, "_-", rf"{_TWO_DIGITS}{_MIXED_CASE}[A-Za-z0-9]{{24,128}}"
    ),
    _make_vendor_rule(_API_WORDS, "_", r"(?=[a-f]{0,30}\d)[a-f0-9]{32,128}"),
)
_WORD_TOKENS = (
    Rule(
        "prefixed-token",
        tuple(
            f"{word}{mark}"
            for word in ("sk", "rk", "pat", "token", "secret", "apikey", "api", "tok")
            for mark in "_-"
        ),
        WORD_START + r"(?:sk|rk|pat|token|secret|apikey|api|tok)[_-]"
        rf"(?:{_TWO_DIGITS}{_MIXED_CASE}[A-Za-z0-9]{{24,128}}|{_MIXTURE}[\w-]{{32,128}})"
        rf"{WORD_END}",
    ),
    Rule(
        "openai-legacy",
        ("t3blbkfj",),
        r"T3BlbkFJ[\w-]{8,200}",
        lead=rf"{WORD_START}sk-[\w-]{{2,120}}",
        before=124,
    ),
    Rule(
        "stripe-client-secret",
        ("_secret_",),
        r"_secret_(?P<secret>[A-Za-z0-9]{20,32})",
        lead=rf"{WORD_START}(?:pi|seti|cs|src)_[A-Za-z0-9]{{14,80}}",
        before=90,
    ),
    Rule(
        "airtable-oauth",
        (".v1.",),
        rf"\.v1\.[\w-]{{20,400}}\.[a-f0-9]{{32,128}}{WORD_END}",
        lead=rf"{WORD_START}oa[ar][A-Za-z0-9]{{10,24}}",
    ),
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
        rf"://{_AT_SIGN}[^\s/:\"'<>\\?#]{{0,120}}:(?P<secret>"
        r"[^\s/\"'<>]{1,200}|(?!\d{1,5}[/?#])[^\s\"'<>@]{1,200}+)@(?=[\w\[$])",
        after=500,
    ),
    Rule(
        "url-password",
        ("://",),
        # Only a web address has an `@` after its host often.
        rf"(?<!http)(?<!https)://{_AT_SIGN}[^\s/:@\"'<>\\?#]{{0,120}}:"
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

RULES = (
    *_TOKENS,
    *_UNPREFIXED_TOKENS,
    *_VENDOR_TOKENS,
    *_WORD_TOKENS,
    *_CONNECTION_STRINGS,
)
