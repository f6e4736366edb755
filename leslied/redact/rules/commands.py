"""Passwords in the arguments of commands, and in their environment."""

from __future__ import annotations

from leslied.redact.rules._names import ANY_NAME, RANDOM, STRONG, WEAK, make_rule

_COMMANDS = (
    r"mongo\w{0,8}|sshpass|az (?:acr )?login|(?:docker|podman|nerdctl"
    r"|buildah|skopeo|helm registry|oras|crane auth|regctl registry"
    r"|singularity remote|oc|cf"
    r"|npm|ibmcloud|snyk|argocd|harbor|jfrog|pulumi|scw|linkerd|minikube"
    r"|kubelogin) login"
    r"|zip\w{0,5}|un(?:zip|rar)|sqlcmd|bcp|isql|tsql|osql|rdesktop|dsconf|twine|psexec\w{0,2}"
    r"(?:\.exe)?|paexec|winrs|plink|pscp|psftp|ipmitool|evil-winrm|crackmapexec|netexec|nxc"
    r"|smbmap|hydra|mosquitto_\w{3}|cqlsh|nodetool|beeline|impala-shell|hdbsql|vsql|influx"
    r"|clickhouse-client|rabbitmqadmin|activemq|swaks|sendemail|curlftpfs|ncftp\w{0,4}|lftp"
    r"|veracrypt|truecrypt|security [\w-]{6,30}|dotnet nuget|nuget|x11vnc"
)
"""Commands whose option `-p` or `-P` is a password."""


def _with_arguments(commands: str) -> str:
    """Return the pattern of one of the commands and its first arguments."""
    return rf"(?i:(?<![A-Za-z0-9])(?:{commands}))(?: [^\n|;&]{{0,150}})?"


RULES = (
    make_rule(
        "command-password",
        (" -u", "--user", "--proxy-user", " -a", "--auth"),
        r"(?: -[ua]|--user|--proxy-user|--auth)[ =]?[\"']?(?!\d{1,6}:\d|"
        r"(?P<user>[\w-]{1,40}):"
        r"(?P=user)(?![\w-]))[^\s:\"'=/]{1,80}:"
        r"(?P<secret>(?=\S{3})[^\s\"'@/\\]{1,200}(?:[@/][^\s\"'@/.\\]{1,60}(?=[\s\"']|$)){0,2})",
    ),
    make_rule(
        "command-password",
        (" -p",),
        r" -p[\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=r"(?:mysql\w{0,6}|mariadb\w{0,8}|mycli|sshpass|7z\w{0,2}|(?:un)?rar"
        r"|patool)(?: [^\n|;&]{0,120})?",
        before=140,
    ),
    make_rule(
        "command-password",
        (" -p",),
        r" -(?:[pP]|pw|hp)[ =:][\"']?(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=_with_arguments(_COMMANDS),
        before=180,
    ),
    make_rule(
        "command-password",
        (" -a ", " -w", " -k ", " --pw", " /rp ", " -hp", " -ap ", " -xp "),
        r" (?:-(?:[awkK]|ap|xp|hp(?=\S))|--pw|/rp)[ =]?[\"']?"
        r"(?P<secret>[^\s\"'=-][^\s\"']{2,100})",
        lead=_with_arguments(
            r"redis-cli|valkey-cli|ldap\w{2,8}|vsql|security [\w-]{6,30}|openssl "
            r"(?:enc|aes"
            r"|des|bf|camellia|chacha)[\w-]{0,20}|hexedit|rar|schtasks|swaks"
            r"|sendemail|net ads"
        ),
        before=180,
    ),
    make_rule(
        "command-password",
        ("-storepass", "-keypass", "storepass ", "pass:", " -u ", "--user="),
        r"(?:-(?:storepass|keypass|(?:src|dest|new)storepass) |storepass |pass:"
        r"|(?: -U |--user=)[\"']?[\w.\\/@-]{1,60}%)[\"']?(?P<secret>[^\s\"']{3,200})",
        lead=_with_arguments(
            r"keytool|openssl|smb\w{2,8}|rpcclient|jarsigner|apksigner|net|winexe"
        ),
        before=180,
    ),
    make_rule(
        "command-password",
        ("echo ", "printf "),
        r"(?:echo|printf)(?: -n|e)? \s?[\"']?(?:[\w-]{1,40}:)?"
        r"(?P<secret>(?:[^\s\"'|$]|\$(?![\w{(])){4,200})\s?[\"']?\s{0,3}\|\s{0,3}"
        r"(?:sudo\b[^\n|]{0,30}? -S|gpg2?\b[^\n|]{0,60}? --passphrase-fd"
        r"|(?:sudo )?(?:chpasswd|docker login|passwd|(?:podman|"
        r"helm registry|buildah|skopeo|oras|npm|vault|gh auth|glab auth|az acr) login"
        r"|smbpasswd|htpasswd|cryptsetup|kinit|saslpasswd2|gh secret|wrangler"
        r"|vercel env"
        r"|openconnect|pass insert|rclone obscure|docker secret))",
    ),
    make_rule(
        "flag-secret",
        (*STRONG, *WEAK),
        rf"(?<=-){ANY_NAME}(?:[ =]{{1,2}})"
        r"(?P<quote>[\"']?)(?P<secret>[^\s\"'`$<>(){}\[\]-][^\s\"'`$<>(){}\[\]]{3,300}+)"
        r"(?P=quote)",
        lead=r"(?<![\w-])--?(?:[\w-]{0,20}-)?",
    ),
    make_rule(
        "command-password",
        # With `-n`, it takes no file.
        ("htpasswd -",),
        r"htpasswd (?:-\w{1,5} ){0,2}-(?=\w{0,4}b)\w{1,5} (?:-\w{1,5} ){0,2}"
        r"(?:(?<=n )|(?<=n\w )|(?<=n\w\w )|(?<=-n -b )|\S{1,80} )\S{1,60} [\"']?"
        r"(?P<secret>[^\s\"'$<>|&][^\s\"']{2,200})",
    ),
    make_rule(
        "command-password",
        (" -n ", " -p "),
        r" -[NP] [\"']?(?P<secret>[^\s\"'$<\\-][^\s\"']{4,120})",
        lead=_with_arguments("ssh-keygen"),
        before=180,
    ),
    make_rule(
        "environment-password",
        (
            *(
                "pgpassword",
                "mysql_pwd",
                "sshpass",
                "_pass=",
                "_pass:",
                "_pw=",
                "_pass =",
            ),
            "rediscli_auth",
        ),
        r"(?:PGPASSWORD|MYSQL_PWD|SSHPASS|_PASS|_PW|REDISCLI_AUTH)\s?[:=][\s\"']{0,3}"
        r"(?P<secret>[^\s\"'`;$<>(){}\[\]]{3,200})",
    ),
    make_rule(
        "password",
        ("pass =", "pass=", "psk=", "pass:", 'pass"', "pass'", "pw:"),
        rf"(?i:pass|psk|pw)[\"']?\s?[=:]\s{{0,2}}[\"']?"
        rf"(?P<secret>{RANDOM}[^\s\"'`,<>(){{}}\[\]\\]{{6,200}})",
        # Not the `--- PASS: TestName` of `go test`.
        lead=r"(?<!---)(?:^|[\s_;&?\"'`>(|:+→-]|[a-z](?=\Z))",
        before=4,
    ),
    make_rule(
        "command-password",
        ("net user ", "/user:", "/pass:", "/password:"),
        r"(?i:net user [\w.-]{1,40} |/user:[\w.\\@-]{1,60} (?!/)|/pass(?:word)?:)[\"']?"
        r"(?P<secret>(?![/*<$%])[^\s\"']{4,120})",
        lead=r"(?i:^|[^\w/]|(?:net use|cmdkey|runas|psexec|schtasks|wmic)[^\n"
        r"|;&]{0,80})",
        before=100,
    ),
    make_rule(
        "command-password",
        ("curl -", "curl --cookie"),
        r"curl (?:-\w{1,8}u [\"']?(?!\d{1,6}:\d)[^\s:\"'=/]{1,80}:"
        r"|(?:[^\n|;&\"']{0,80} )?(?:-b|--cookie)[ =][\"']?[\w.-]{1,60}=)"
        r"(?P<secret>[^\s\"'@<>$]{4,1000})",
        after=1200,
    ),
    make_rule(
        "command-password",
        ("altool ", "notarytool "),
        r"(?:altool|notarytool) [^\n|;&]{0,200}?(?<= )(?:-p|--password)[ =][\"']?"
        r"(?P<secret>[^\s\"'@$<-][^\s\"']{3,100})",
    ),
    make_rule(
        "command-password",
        ("expdp ", "impdp ", "sqlplus ", "sqlldr "),
        r"(?:expdp|impdp|sqlplus|sqlldr)(?: -\w{1,2})* [\"']?[\w$#]{1,40}/[\"']?"
        r"(?P<secret>(?=\S{0,40}\d)[^\s\"'/@]{6,60})(?=[\s\"']|$)",
    ),
    make_rule(
        "command-password",
        ("operator unseal ",),
        r"operator unseal (?P<secret>[\w+/]{40,80}={0,2})",
    ),
    make_rule(
        "command-password",
        (" /p ",),
        r" /p [\"']?(?P<secret>[^\s\"'/$%<][^\s\"']{3,120})",
        lead=_with_arguments("signtool"),
        before=180,
    ),
    make_rule(
        "command-password",
        ("chpasswd:",),
        r"chpasswd:\s{1,12}list: ?\|?\s{1,16}[\w.-]{1,40}:(?P<secret>[^\s$<]\S{3,120})",
    ),
    make_rule(
        "command-password",
        ("/p:",),
        r"/p:[\"']?(?P<secret>[^\s\"']{4,120})",
        lead=r"[xw]?freerdp[^\n|;&]{0,90}",
        before=100,
    ),
    make_rule(
        "command-password",
        ("net use ",),
        r"(?i:net use) (?:[A-Z*]:? )?[^\s\"']{3,100} "
        r"(?P<secret>(?![/*<$%])[^\s\"']{4,120})",
    ),
    make_rule(
        "command-password",
        (" -a ", " -x "),
        r" -[AX] [\"']?(?P<secret>[^\s\"'$<-][^\s\"']{7,100})",
        lead=r"snmp[a-z]{2,10}(?: [^\n|;&]{0,80})?",
        before=100,
    ),
    make_rule(
        "command-password",
        ("add_user ", "change_password ", "wifi-sec.psk ", "--pass ", "--passphrase "),
        r"(?:(?:add_user|change_password) [\w.@-]{1,40}|wifi-sec\.psk|--pass"
        r"(?:phrase)?) "
        r"[\"']?(?P<secret>[^\s\"'$<-][^\s\"']{4,120})",
    ),
    make_rule(
        "command-password",
        ("enable secret ", "enable password ", "username ", "new value: "),
        r"(?:enable (?:secret|password) |username [\w.-]{1,40} (?:privilege \d{1,2} )?"
        r"(?:secret|password) |New value: (?=[^\s]{0,30}[a-z])(?=[^\s]{0,30}[A-Z]))"
        r"(?:\d{1,2} )?(?P<secret>(?=[^\s]{0,40}\d)[^\s\"']{8,120})",
    ),
    make_rule(
        "command-password",
        # Passwords that are arguments without an option.
        (
            *("password ", "passwd ", "obscure ", "-setairportnetwork", "--encrypt-"),
            *("ftp_pass ", "-passwd "),
        ),
        r"(?:password|passwd|obscure|-setairportnetwork \w{2,6} \S{1,40}|-passwd"
        r"(?: /\S{1,60})?"
        r"|--encrypt-(?:master-)?password|ftp_pass) [\"']?(?P<secret>"
        r"(?=[^\s]{0,60}\d)[^\s\"'$<>()=-][^\s\"'<>]{5,120})",
        lead=_with_arguments(
            r"nmcli|mysqladmin|rclone|networksetup|mvn|dscl|x11vnc|lpass|kadmin\S{0,8}"
        ),
        before=180,
    ),
    make_rule(
        "command-password",
        ("wpa_passphrase ", "keymaterial="),
        r"(?i:wpa_passphrase [\"']?\S{1,40}[\"']? |keymaterial=)[\"']?"
        r"(?P<secret>(?![$<=])[^\s\"']{8,64})",
    ),
    make_rule(
        "command-password",
        ("--value ", "--value=", "--secret-value ", "<<< ", "<<<"),
        r"(?:--(?:secret-)?value[ =]|<<< ?)[\"']?(?P<secret>(?=[^\s]{0,60}\d)"
        r"[^\s\"'$<>()-][^\s\"'<>]{5,200})",
        lead=_with_arguments(
            r"aws ssm put-parameter|az keyvault secret|gh secret|glab variable|passwd"
            r"|chpasswd|cryptsetup|kinit|sudo -S|(?:docker|podman|gh auth|vault"
            r"|npm) login"
        ),
        before=180,
    ),
    make_rule(
        "command-password",
        # Secrets that are set by name.
        (
            *(
                "secret set ",
                "variable set ",
                "config set ",
                "configure set ",
                "env add ",
            ),
            *(
                "secrets set ",
                "config:set ",
                "env:set ",
                "set-env ",
                "parameter --name ",
            ),
            *(
                "--secret-string ",
                "secret put ",
                "config http-basic.",
                "config gems.",
                "config pypi",
                "config github",
            ),
        ),
        r"(?:(?:secret|variable)s? set [\w./-]{1,60}(?: [^\n|;&]{0,80}?)?"
        r"(?:--body[ =]|--value[ =]|--secret[ =]|-[bv][ =]?)"
        r"|(?:config|configure) set (?:--\w{1,20} )?(?:[\w./:@-]{0,80})(?i:token|key"
        r"|secret|"
        r"password|pass|auth|pat)[\w.]{0,12}[ =]|config (?:set )?(?:--\w{1,12} )?"
        r"(?:http-basic|gems|pypi-token|github-oauth)\.[\w./-]{1,60} "
        r"(?:[\w.@-]{1,60}[ :])?|--secret-string )[\"']?"
        r"(?P<secret>(?=[^\s]{0,80}\d)[^\s\"'$<>-][^\s\"'<>]{5,300})",
    ),
    make_rule(
        "command-password",
        (
            *(" auth login ", " login ", " -t ", "vault login ", "cargo login "),
            *("--with-token <<< ", "login --token "),
        ),
        r"(?: -t|login|<<<|--token)[ =][\"']?(?P<secret>"
        r"(?=[^\s]{0,60}\d)[\w.-]{16,200})",
        lead=r"(?:glab auth login|influx|vault|cargo|nomad|boundary|doppler)"
        r"(?: [^\n|;&]{0,60})?",
        before=90,
    ),
    make_rule(
        "command-password",
        ("sqlplus ", "expdp ", "impdp ", "exp ", "imp ", "sqlldr ", "rman target "),
        r"(?:sqlplus|expdp|impdp|exp|imp|sqlldr|rman target)"
        r"(?: -\w{1,2})* [\"']?[\w$#]{1,40}/"
        r"[\"']?(?P<secret>[^\s\"'/@]{4,60})@",
    ),
    make_rule(
        "command-password",
        ("lftp -u ", "lftp -e", " -u "),
        r" -u [\"']?[\w.@-]{1,60},(?P<secret>[^\s\"',]{4,100})",
        lead=_with_arguments("lftp"),
        before=120,
    ),
    make_rule(
        "command-password",
        ("send ", "send -- ", "sendline("),
        r"(?:send(?: --)? |sendline\()[\"'](?P<secret>"
        r"(?=[^\s]{0,60}\d)[^\s\"']{5,100}?)"
        r"(?:\\[rn]|\s{1,2}[rn]?|[\"'])",
        lead=r"(?i:assword|passphrase)[^\n]{0,30}\n?[^\n]{0,60}",
        before=120,
    ),
    make_rule(
        "command-password",
        ("mc alias set ", "mc config host add "),
        r"mc (?:alias set|config host add) \S{1,40} \S{1,100} \S{1,100} [\"']?"
        r"(?P<secret>[^\s\"'$<]{8,100})",
    ),
    make_rule(
        "command-password",
        (": psk ", ": eap ", ": xauth ", ": ntlm "),
        r": (?:PSK|EAP|XAUTH|NTLM) [\"'](?P<secret>[^\"'\n]{6,120})",
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
        r"PARTITION|IDEMPOTENCY|REGISTRY|OBJECT|INDEX|HASH|GROUP|HOST|SSH|ROUTING|SITE)\Z)"
        r"[A-Z][A-Z0-9_]{1,30}",
    ),
    make_rule(
        "wifi-password",
        ("wifi:", "snmp-server community"),
        r"(?:(?i:WIFI):[^\s]{0,100}?;?P:|snmp-server community )"
        r"(?P<secret>[^\s;\"']{4,100})(?:;|\s|$)",
    ),
)
