"""Passwords in the arguments of commands, and in their environment."""

from __future__ import annotations

from leslied.redact.rules._names import ANY_NAME, RANDOM, STRONG, WEAK, make_rule

RULES = (
    make_rule(
        "command-password",
        (" -u", "--user", "--proxy-user", " -a", "--auth"),
        r"(?: -[ua]|--user|--proxy-user|--auth)[ =]?[\"']?[^\s:\"'=/]{1,80}:"
        r"(?P<secret>[^\s\"'@/\\]{3,200})",
    ),
    make_rule(
        "command-password",
        (" -p",),
        r" -p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=r"(?:mysql\w{0,6}|mariadb\w{0,8}|mycli|sshpass|7za?)(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    make_rule(
        "command-password",
        (" -p", " -a", " -w"),
        r" -[pPaw][ =][\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=r"(?:mongo\w{0,6}|sshpass|redis-cli|docker login|podman login|unzip|unrar|"
        r"zip|sqlcmd|bcp|ldap\w{3,8})(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    make_rule(
        "command-password",
        ("-storepass", "-keypass", "pass:", " -u "),
        r"(?:-(?:storepass|keypass) |pass:| -U [\w.-]{1,60}%)[\"']?"
        r"(?P<secret>[^\s\"']{3,200})",
        lead=r"(?:keytool|openssl|smbclient|jarsigner)(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    make_rule(
        "command-password",
        ("echo ", "printf "),
        r"(?:echo|printf)(?: -n)? \s?[\"']?(?:[\w-]{1,40}:)?"
        r"(?P<secret>[^\s\"'|$]{4,200})\s?[\"']?\s{0,3}\|\s{0,3}"
        r"(?:sudo\b[^\n|]{0,30}? -S|(?:sudo )?(?:chpasswd|docker login|passwd))",
    ),
    make_rule(
        "flag-secret",
        (*STRONG, *WEAK),
        rf"{ANY_NAME}(?:[ =]{{1,2}})"
        r"(?P<quote>[\"']?)(?P<secret>[^\s\"'`$<>(){}\[\]-][^\s\"'`$<>(){}\[\]]{3,300}+)"
        r"(?P=quote)",
        lead=r"(?<![\w-])--?(?:[\w-]{0,20}-)?",
    ),
    make_rule(
        "command-password",
        ("htpasswd",),
        r"htpasswd -\w{0,4}b\w{0,3} \S{1,80} \S{1,60} [\"']?"
        r"(?P<secret>[^\s\"']{3,200})",
    ),
    make_rule(
        "environment-password",
        ("pgpassword", "mysql_pwd", "_pass=", "_pass:", "_pw=", "_pass ="),
        r"(?:PGPASSWORD|MYSQL_PWD|_PASS|_PW)\s?[:=][\s\"']{0,3}"
        r"(?P<secret>[^\s\"'`;$<>(){}\[\]]{3,200})",
    ),
    make_rule(
        "password",
        ("pass =", "pass=", "psk=", "pass:", 'pass"', "pass'", "pw:"),
        rf"(?i:pass|psk|pw)[\"']?\s?[=:]\s{{0,2}}[\"']?"
        rf"(?P<secret>{RANDOM}[^\s\"'`,<>(){{}}\[\]\\]{{6,200}})",
        lead=r"(?:^|[\s_;&?\"'`>(|:+-]|[a-z](?=\Z))",
        before=1,
    ),
    make_rule(
        "command-password",
        ("net user ", "/user:", "/pass:", "/password:"),
        r"(?i:net user [\w.-]{1,40} |/user:[\w.\\@-]{1,60} (?!/)|/pass(?:word)?:)[\"']?"
        r"(?P<secret>(?![/*<$%])[^\s\"']{4,120})",
        lead=r"(?i:^|[^\w/]|(?:net use|cmdkey|runas|psexec|schtasks)[^\n|;&]{0,80})",
        before=100,
    ),
    make_rule(
        "command-password",
        ("auth plain ", "auth login "),
        r"(?i:auth (?:plain|login)) (?P<secret>[A-Za-z0-9+/]{12,400}={0,2})",
    ),
    make_rule(
        "command-password",
        ("bindpw ", "rootpw ", "bind_pw "),
        r"(?:bindpw|rootpw|bind_pw)\s{1,4}[\"']?(?P<secret>[^\s\"']{4,200})",
    ),
    make_rule(
        "command-password",
        ("add_user ", "change_password ", "wifi-sec.psk ", "--pass ", "-cbc -k "),
        r"(?:(?:add_user|change_password) [\w.@-]{1,40}|wifi-sec\.psk|--pass|-cbc -k) "
        r"[\"']?(?P<secret>[^\s\"'$<-][^\s\"']{4,120})",
    ),
    make_rule(
        "command-password",
        (": psk ",),
        r": PSK [\"'](?P<secret>[^\"'\n]{6,120})",
    ),
    make_rule(
        "wordpress-salt",
        ("_key'", "_salt'"),
        r"_(?:KEY|SALT)',\s{0,20}'(?P<secret>[^'\n]{32,120})'",
        lead=r"define\(\s?'(?:AUTH|SECURE_AUTH|LOGGED_IN|NONCE)",
    ),
    make_rule(
        "environment-key",
        ("_key=", "_key =", "_key:", "_key': '", '_key": "', "_key', '"),
        r"_KEY[\"']?\s?[=:,]\s{0,3}[\"']?(?P<secret>(?=[^\s]{0,40}\d)"
        r"(?=[^\s]{0,40}[A-Za-z])[\w+/.:=-]{24,200})(?=[\s\"'`,;)\]}]|$)",
        lead=r"(?:^|[^A-Z0-9_])(?!(?:[A-Z0-9]+_)*(?:PUBLIC|PUBLISHABLE|CACHE|PRIMARY|SORT|"
        r"PARTITION|IDEMPOTENCY|REGISTRY|OBJECT|INDEX|HASH|GROUP|HOST|SSH|ROUTING)\Z)"
        r"[A-Z][A-Z0-9_]{1,30}",
    ),
    make_rule(
        "wifi-password",
        ("wifi:", "snmp-server community"),
        r"(?:(?i:WIFI):[^\s]{0,100}?;?P:|snmp-server community )"
        r"(?P<secret>[^\s;\"']{4,100})(?:;|\s|$)",
    ),
)
