"""Passwords that stand in the arguments of commands."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


@pytest.mark.parametrize(
    "command",
    [
        "mysql -h db -u root -p{} shop",
        "net user worker {} /add",
        r"net use Z: \\nas\share /user:ACME\svc {}",
        "cmdkey /add:server /user:svc /pass:{}",
        "echo 'root:{}' | sudo chpasswd",
        "AUTH PLAIN {}",
        "bindpw {}",
        "redis-cli -a {} ping",
        "sshpass -p {} ssh me@host",
        "ldapsearch -x -W -D cn=a -w {} -b dc=a",
        "helm registry login r.example -u me -p {}",
        "openssl enc -aes-256-cbc -in a -out b -k {}",
        "keytool -importkeystore -srckeystore a.jks -keypass {0} -storepass {0}",
        r"PsExec.exe \\10.0.4.7 -u ACME\admin -p {} cmd",
        "nmcli dev wifi connect guest password {}",
        "mysqladmin -u root -pold password {}",
        "gh secret set NAME --body {}",
        "rclone obscure {}",
        "sqlplus system/{}@orcl",
        "mc alias set m https://s3.example me {}",
        "wpa_passphrase guest {}",
        "sudo -S ls <<< {}",
        "curl -sSfu backup:{} https://example.com",
        "curl --cookie '_app_id={}' https://example.com",
        "schtasks /create /ru svc /rp {} /tn t",
        "signtool sign /f c.pfx /p {} a.exe",
        "impdp system/{} directory=d",
        "xcrun altool --notarize-app -u me@example.com -p {}",
        "chpasswd:\n  list: |\n    me:{}",
        "ssh-keygen -t ed25519 -N '{}' -f id_deploy",
        'ssh-keygen -p -P {} -N "" -f id_rsa',
        "htpasswd -nb me {}",
        "htpasswd -b -c .htpasswd me {} >/dev/null",
        "htpasswd -cb .htpasswd me {}",
        "htpasswd -nbB me {}",
        "htpasswd -n -b me {}",
        "REDISCLI_AUTH={} redis-cli keys '*'",
        "echo '{}$' | sudo -S apt-get update",
        "echo {} | gpg --batch --passphrase-fd 0 -d f.gpg",
    ],
)
def test_a_password_in_an_argument_is_redacted(command: str):
    assert "Gr4niteMeadow89" not in redact(command.format("Gr4niteMeadow89"))


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p build/output",
        "ssh-keygen -t ed25519 -N '' -f deploy1key2",
        "ssh-keygen -p -f deploy1key2",
        'echo "$PASSW0RD1" | sudo -S true',
        "net user worker /delete",
        "docker run -p 8080:80 nginx",
        "cp -a source target",
        "docker run -u 1000:1000 nginx",
        "docker exec -u www-data:www-data web ls",
        "ssh -p 2222 me@host2example",
        "gh secret set NAME --repo acme/web2app",
        "sqlcmd -S host2example -Q query1",
        "echo done | tee log",
        "--- PASS: TestStore/keeps_2_rows (0.00s)",
        "xcrun notarytool submit a.zip --password @keychain:AC2_LOGIN",
        "curl -su $USER:$TOKEN2 https://example.com",
        "impdp tables2/rows directory=d",
        "schtasks /run /tn nightly2example",
    ],
)
def test_other_arguments_are_kept(command: str):
    assert redact(command) == command
