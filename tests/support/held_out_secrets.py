"""Generate a held-out, labelled set of made-up secrets and of look-alikes.

Every value is random characters in the shape of a token; none was ever issued.
Tables hold compact templates.  `{a36}` stands for 36 random letters and digits (see
`ALPHABETS`), `{U}` and other bare capitals for composed values (see `SPECIAL`).
`«…»` marks the secret part of a template; without the marks all of it is secret.
A broken bar splits vendor prefixes so that no scanner flags this file; it is removed,
and the control pictures become the control characters they show (see `PICTURES`).
` § ` separates two entries that share a line of a table.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
import string
import uuid
import zlib
from collections.abc import Callable
from urllib.parse import quote

Row = tuple[str, str, str, str, str]
Parts = tuple[str, str, str]
Lines = list[str]
Codec = Callable[[str], str]

SEED = "held-out-4"
PICTURES = str.maketrans(
    {"¦": "", "⏎": "\n", "␍": "\r", "⇥": "\t", "␛": "\x1b", "␠": " "}
)
ALNUM = string.digits + string.ascii_uppercase + string.ascii_lowercase
BASE58 = "".join(c for c in ALNUM if c not in "0OIl")
ALPHABETS = {
    "a": ALNUM,
    "b": ALNUM + "+/",
    "B": string.ascii_uppercase + "234567",
    "c": string.ascii_letters,
    "d": string.digits,
    "e": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
    "f": "qpzry9x8gf2tvdw0s3jn54khce6mua7l",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "k": string.ascii_lowercase + string.digits,
    "K": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase,
    "n": "123456789",
    "u": ALNUM + "-_",
    "y": "./" + ALNUM,
}
WORDS = re.findall(
    "[a-z]+",
    "artist basket canyon desert ecology fabric garden hammer island jungle kitten "
    "ladder marble napkin orange pepper quantum ranch salmon tunnel umbrella velvet "
    "walnut yellow zebra bridge copper dolphin engine forest guitar harvest",
)

# One line per kind: kind, template.  The value is recognisable by itself.
TOKENS = r"""
openai-legacy s¦k-{a20}T3Blbk¦FJ{a20} § openai-project s¦k-proj-{u74}T3Blbk¦FJ{u74}
anthropic-api s¦k-ant-api03-{u93}AA § anthropic-oauth s¦k-ant-oat01-{u93}AA
google-api AI¦zaSy{u33} § huggingface h¦f_{c34} § replicate r¦8_{a37} § groq gs¦k_{a52}
perplexity ppl¦x-{a48} § xai xa¦i-{a80} § openrouter s¦k-or-v1-{h64} § e2b e2¦b_{h40}
langsmith-personal lsv¦2_pt_{h32}_{h10} § nvidia-nim nva¦pi-{u64} § langfuse s¦k-lf-{U}
pinecone pcs¦k_{a6}_{a63} § tavily tvl¦y-dev-{a32} § firecrawl f¦c-{h32} § npm np¦m_{G}
databricks dap¦i{h32} § apify apify¦_api_{a36} § github-pat gh¦p_{G} § pulumi pu¦l-{h40}
github-oauth gh¦o_{G} § github-server gh¦s_{G} § gitlab-pat glp¦at-{u20} § jwt-hs256 {J}
github-fine-grained github¦_pat_{a22}_{a59} § gitlab-deploy gld¦t-{u20} § jwt-rs256 {Q}
gitlab-runner gl¦rt-{u20} § gitlab-registration GR13¦48941{u20} § buildkite bku¦a_{h40}
atlassian-api ATAT¦T3xFfGF0{u171}={H8} § bitbucket-app ATB¦B{a24}{H8} § neon nap¦i_{k64}
sourcegraph sg¦p_{h16}_{h40} § azure-devops {a76}AZ¦DO{a4} § sonar-user sq¦u_{h40}
circleci CCIP¦AT_{a22}_{h40} § octopus-deploy AP¦I-{K26} § netlify nf¦p_{a36}
heroku-v2 HRK¦U-AA{u58} § fly-macaroon fm¦2_lJPECAAAAAAA{b120} § prefect pn¦u_{k36}
terraform-cloud {a14}.atlas¦v1.{u67} § supabase-personal sb¦p_{h40} § nuget oy¦2{k43}
supabase-secret sb¦_secret_{u22}_{u8} § planetscale-password pscale¦_pw_{u43}
infracost ic¦o-{a32} § pypi pyp¦i-AgEIcHlwaS5vcmc{u150} § rubygems ruby¦gems_{h48}
crates-io ci¦o{a32} § docker-hub dckr¦_pat_{u27} § artifactory-key AK¦Cp{a69}
artifactory-reference cmVm¦dGtu{a56} § clojars CLOJ¦ARS_{k60} § alibaba LT¦AI{a20}
aws-access-key AK¦IA{B16} § aws-bedrock ABS¦K{b108}{b20} § google-access ya2¦9.a0{u160}
gcp-oauth-secret GOC¦SPX-{u28} § google-refresh 1/¦/0{d1}{u60} § twilio-key S¦K{h32}
azure-client-secret {a3}8Q¦~{a34} § azure-function {u44}Az¦Fu{u5}Q== § figma fig¦d_{u40}
azure-container-registry {b42}+A¦CRD{b5} § digitalocean-pat dop¦_v1_{h64}
cloudflare-origin v1¦.0-{h24}-{h146} § slack-bot xo¦xb-{n1}{d11}-{n1}{d12}-{a24}
slack-user xo¦xp-{n1}{d11}-{n1}{d11}-{n1}{d12}-{h32} § slack-refresh xo¦xe-1-{a146}
slack-app xa¦pp-1-A{K10}-{n1}{d12}-{h64} § discord-bot {D}.G{a5}.{u38} § axiom xa¦at-{U}
telegram-bot {n1}{d9}:A¦A{u33} § sendgrid S¦G.{u22}.{u43} § mailgun ke¦y-{h32}
mailchimp {h32}-u¦s{n1} § brevo-api xkey¦sib-{h64}-{a16} § resend r¦e_{a8}_{a24}
stripe-live sk¦_live_{a24} § stripe-long sk¦_live_51{a97} § stripe-test sk¦_test_{a24}
stripe-webhook wh¦sec_{a32} § square-access EA¦AA{u60} § shopify-admin shp¦at_{h32}
braintree access¦_token$production${k16}${h32} § flutterwave FLW¦SECK_TEST-{h32}-X
plaid-access access¦-production-{U} § paddle pdl¦_live_apikey_{k26}_{a22}_{a3}
easypost EZ¦AK{a54} § duffel duffel¦_live_{u43} § shippo shippo¦_live_{h40}
airtable pa¦t{a14}.{h64} § notion nt¦n_{d11}{a35} § linear lin¦_api_{a40}
postman PM¦AK-{h24}-{h34} § readme-io rdm¦e_{k70} § contentful CF¦PAT-{u43}
hubspot-app pa¦t-na1-{U} § clickup p¦k_{n1}{d7}_{K32} § dynatrace dt0¦c01.{B24}.{B64}
grafana-service gls¦a_{a32}_{h8} § grafana-cloud gl¦c_eyJvIjoi{b110}= § adobe p8¦e-{k32}
newrelic-user NR¦AK-{K27} § newrelic-licence {h36}NR¦AL § sentry-user sntr¦yu_{h64}
sentry-org sntr¦ys_eyJpYXQiOjE3{b120}=_{b43} § posthog-personal ph¦x_{a43}
mongodb-atlas mdb¦_sa_sk_{u40} § cockroach CCD¦B1_{a22}_{a40} § vault-service hv¦s.{u95}
vault-batch hv¦b.{u140} § onepassword-service op¦s_eyJ{b300} § launchdarkly-sdk sd¦k-{U}
onepassword-secret A¦3-{K6}-{K6}-{K5}-{K5}-{K5}-{K5} § infisical s¦t.{h24}.{h32}.{h32}
age-key AGE-SEC¦RET-KEY-1{e58} § configcat configcat¦-sdk-1/{u22}/{u22}
facebook EA¦ACEdEose0cBA{a120} § tailscale tsk¦ey-auth-k{a11}CNTRL-{a32}
mapbox-secret s¦k.eyJ1Ijoi{u60}.{u22} § vercel-blob vercel¦_blob_rw_{a16}_{a30}
inngest sign¦key-prod-{h64} § firebase-server AA¦AA{u7}:APA91b{u134} § bitcoin-wif {W}
openshift sha¦256~{u43} § maxmind {a6}_{a29}_m¦mk § lichess li¦p_{a20}
wakatime wak¦a_{U} § bitcoin-xprv {X}
"""

# Kind, variable name, template: definite because the vendor's name stands next to it.
VENDOR_PAIRS = r"""
datadog-api DD_API_KEY {h32} § aws-secret AWS_SECRET_ACCESS_KEY {b40}
aws-session-token AWS_SESSION_TOKEN IQoJ¦b3JpZ2luX2Vj{b300} § wandb WANDB_API_KEY {h40}
cohere COHERE_API_KEY {a40} § mistral MISTRAL_API_KEY {a32} § gitea GITEA_TOKEN {h40}
together TOGETHER_API_KEY {h64} § deepseek DEEPSEEK_API_KEY s¦k-{h32}
elevenlabs ELEVENLABS_API_KEY s¦k_{h48} § deepgram DEEPGRAM_API_KEY {h40}
azure-openai AZURE_OPENAI_API_KEY {h32} § codecov CODECOV_TOKEN {U}
snyk SNYK_TOKEN {U} § coveralls COVERALLS_REPO_TOKEN {a32} § vercel VERCEL_TOKEN {a24}
jenkins JENKINS_API_TOKEN 11{h32} § heroku HEROKU_API_KEY {U}
linode LINODE_TOKEN {h64} § hetzner HCLOUD_TOKEN {a64} § vultr VULTR_API_KEY {K36}
scaleway SCW_SECRET_KEY {U} § cloudflare-token CLOUDFLARE_API_TOKEN {u40}
fastly FASTLY_API_TOKEN {u32} § ibm-cloud IBMCLOUD_API_KEY {u44}
twilio-auth TWILIO_AUTH_TOKEN {h32} § postmark POSTMARK_SERVER_TOKEN {U}
razorpay RAZORPAY_KEY_SECRET {a24} § plaid-secret PLAID_SECRET {h30}
paystack PAYSTACK_SECRET_KEY sk¦_live_{h40} § asana ASANA_ACCESS_TOKEN 1/{n1}{d15}:{h32}
rollbar ROLLBAR_ACCESS_TOKEN {h32} § pagerduty PAGERDUTY_TOKEN u+{u18}
honeycomb HONEYCOMB_API_KEY {a22} § algolia ALGOLIA_ADMIN_KEY {h32}
influxdb INFLUX_TOKEN {u86}== § confluent CONFLUENT_CLOUD_API_SECRET {b64}
vault-old VAULT_TOKEN s.{a24} § okta OKTA_API_TOKEN 00{u40}
auth0 AUTH0_CLIENT_SECRET {u64} § clerk CLERK_SECRET_KEY sk¦_live_{a42}
spotify SPOTIFY_CLIENT_SECRET {h32} § recaptcha RECAPTCHA_SECRET_KEY 6L{u38}
binance BINANCE_API_SECRET {a64} § kraken KRAKEN_PRIVATE_KEY {b86}==
kucoin KUCOIN_API_SECRET {U} § ethereum-key ETH_PRIVATE_KEY 0x{h64}
ngrok NGROK_AUTHTOKEN 2{a26}_{a21} § ably ABLY_API_KEY {u6}.{u6}:{u43}
virustotal VIRUSTOTAL_API_KEY {h64} § bitwarden BWS_ACCESS_TOKEN 0.{U}.{a30}:{b22}==
"""

# Kind, line with the secret marked: addresses, webhooks and connection strings.
VENDOR_LINES = r"""
url-postgres postgres:/¦/app:«{a16}»@db.internal:5432/shop
url-mysql-at mysql:/¦/root:«{a6}@{a7}»@10.0.3.4:3306/shop
url-postgres-slash postgresql:/¦/app:«{a6}/{a7}»@db.internal/shop
url-redis-ipv6 redis:/¦/:«{a20}»@[2001:db8::7]:6379/0
url-mongodb mongodb+srv:/¦/svc:«{a18}»@cluster0.ab1cd.mongodb.net/prod?w=majority
url-amqp amqps:/¦/worker:«{a22}»@mq.internal:5671/jobs
url-https-basic https:/¦/deploy:«{a14}»@nexus.internal/repository/x
url-token-as-user https:/¦/«{h40}»@git.internal/team/app.git
url-percent-password mssql:/¦/sa:«{a5}%40{a4}%2F{a3}»@sql.internal:1433/erp
url-smtp smtps:/¦/mailer%40shop.io:«{a16}»@smtp.internal:465
url-sentry-dsn https:/¦/{h32}:«{h32}»@sentry.io/{n1}{d6}
url-cloudinary cloudinary:/¦/{n1}{d14}:«{u27}»@shopcloud
query-api-key https://api.shop.io/v1/items?api_key=«{a32}»&page=2
query-access-token https://api.shop.io/me?fields=id&access_token=«{u48}»
query-client-secret https://auth.shop.io/token?client_id=web&client_secret=«{u40}»
azure-sas https://shop.blob.core.windows.net/c/f?sv=2022-11-02&sp=r&sig=«{a43}%3D»
aws-presigned https://b.s3.amazonaws.com/f?X-Amz-Expires=900&X-Amz-Signature=«{h64}»
slack-webhook https://hooks.sl¦ack.com/services/«T{K10}/B{K10}/{a24}»
discord-webhook https://dis¦cord.com/api/webhooks/{n1}{d18}/«{u68}»
teams-hook https://x.webhook.off¦ice.com/webhookb2/«{U}@{U}/IncomingWebhook/{h32}/{U}»
google-chat-webhook https://chat.googleapis.com/v1/spaces/AAAA/messages?token=«{u43}»
zapier-webhook https://hooks.zap¦ier.com/hooks/catch/{n1}{d6}/«{k7}»/
feishu-webhook https://open.fei¦shu.cn/open-apis/bot/v2/hook/«{U}»
dingtalk-webhook https://oapi.dingt¦alk.com/robot/send?access_token=«{h64}»
telegram-url https://api.tele¦gram.org/bot«{n1}{d9}:A¦A{u33}»/getMe
azure-storage DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=«{b86}==»
azure-bus Endpoint=sb://s.servicebus.windows.net;SharedAccessKey=«{b33}+ASbA{b4}w=»
azure-cosmos AccountEndpoint=https://s.documents.azure.com;AccountKey=«{b76}ACDb{b5}Q==»
azure-redis s.redis.cache.windows.net:6380,password=«{a33}AzCa{a6}=»,ssl=True
gcp-service-account {"private_key":"-----BEGIN PRIV¦ATE KEY-----\n«MIIEvQ{b58}»\n"}
"""

# Kind, variable name, template: only the name tells that the value is secret.
NAMED_PAIRS = r"""
password PASSWORD {P} § db-password DB_PASSWORD {P} § pgpassword PGPASSWORD {P}
postgres-password POSTGRES_PASSWORD {P} § mysql-root-password MYSQL_ROOT_PASSWORD {P}
redis-password REDIS_PASSWORD {P} § ldap-bind-password LDAP_BIND_PASSWORD {P}
keystore-password KEYSTORE_PASSWORD {P} § restic-password RESTIC_PASSWORD {P}
passphrase PASSPHRASE {P} § secret-key SECRET_KEY {a50} § jwt-secret JWT_SECRET {h64}
session-secret SESSION_SECRET {u43} § nextauth-secret NEXTAUTH_SECRET {b43}=
laravel-app-key APP_KEY base64:{b43}= § api-key API_KEY {a32}
access-token ACCESS_TOKEN {u40} § auth-token AUTH_TOKEN {h40}
client-secret CLIENT_SECRET {u40} § webhook-secret WEBHOOK_SECRET {h40}
encryption-key ENCRYPTION_KEY {b43}= § rails-secret SECRET_KEY_BASE {h128}
rails-master-key RAILS_MASTER_KEY {h32}
"""

# Kind, line with the value marked.  A leading caret: stands at the start of its line.
NAMED_LINES = r"""
header-basic Authorization: Basic «{Z}» § header-bearer Authorization: Bearer «{u40}»
header-api-key X-API-Key: «{a32}» § header-cookie Cookie: theme=dark; sessionid=«{k32}»
header-set-cookie Set-Cookie: connect.sid=«s%3A{u32}.{a43}»; Path=/; HttpOnly
curl-user curl -u deploy:«{P}» https://nexus.internal/status § ^ldap-bindpw bindpw «{P}»
curl-form curl -d 'grant_type=password&username=bob&password=«{a14}»' https://sso
mysql-short mysql -h db1 -u root -p«{P}» shop § ^redis-conf requirepass «{P}»
psql-conninfo psql "host=db1 user=app password=«{P}» dbname=shop" § wifi-psk psk="«{P}»"
mongosh mongosh --host m1 -u admin -p «{P}» --authenticationDatabase admin
redis-cli redis-cli -h cache1 -a «{P}» ping § ^pgpass db1.internal:5432:shop:app:«{P}»
^netrc machine api.shop.io login bot password «{P}» § ^htpasswd bob:«$apr1${y8}${y22}»
^htpasswd-bcrypt alice:«$2y$10${y53}» § ^shadow root:«$6${y16}${y86}»:19700:0:99999:7:::
docker-auth {"auths":{"registry.internal":{"auth":"«{Z}»"}}}
docker-login docker login -u ci -p «{P}» registry.internal § mnemonic mnemonic: "«{M}»"
kubectl-literal kubectl create secret generic db --from-literal=password=«{P}»
kubernetes-data {"kind":"Secret","data":{"password":"«{V}»"}}
ado-string Server=db1;Database=erp;User Id=sa;Password=«{P}»;Encrypt=true
odbc-string Driver={ODBC Driver 18};Server=db1;Uid=sa;Pwd=«{P}»;
jdbc-query jdbc:mysql://db1:3306/shop?user=app&password=«{a16}»&useSSL=false
jdbc-oracle jdbc:oracle:thin:app/«{a12}»@//db1:1521/ORCL
otpauth otpauth://totp/Shop:bob?secret=«{B32}»&issuer=Shop
ansible-become app1 ansible_host=10.0.0.4 ansible_become_pass=«{P}»
terraform-password master_password = "«{P}»" § npmrc-auth //npm.internal/:_auth=«{Z}»
spring-datasource spring.datasource.password=«{P}» § net-user net user bob «{P}» /add
npmrc-token //registry.npmjs.org/:_authToken=«{U}» § wireguard PrivateKey = «{b43}=»
pip-conf index-url = https:/¦/ci:«{a16}»@pypi.internal/simple
wp-config define('DB_PASSWORD', '«{P}»'); § chpasswd echo 'bob:«{P}»' | chpasswd
django-databases 'USER': 'app', 'PASSWORD': '«{P}»', 'HOST': 'db1'
ldapsearch ldapsearch -x -D cn=admin,dc=shop,dc=io -w «{P}» -b dc=shop,dc=io
sshpass sshpass -p «{P}» ssh root@10.0.0.9 uptime
openssl-passin openssl rsa -in server.key -passin pass:«{P}» -out plain.key
powershell-secure ConvertTo-SecureString "«{P}»" -AsPlainText -Force
keytool keytool -list -keystore app.jks -storepass «{P}»
gpg-passphrase gpg --batch --passphrase «{P}» -d backup.gpg
smbclient smbclient //nas/share -U bob%«{a12}»
sql-identified CREATE USER 'app'@'%' IDENTIFIED BY '«{P}»';
sql-alter-user ALTER ROLE app WITH LOGIN PASSWORD '«{P}»';
maven-server <username>ci</username><password>«{P}»</password>
"""

# Position, codec, template: for every kind that is one line long.
WRAPPERS = r"""
alone raw {s} § md-code raw Set `{s}` first. § md-fence raw ```text⏎{s}⏎```
md-table raw | 3 | {s} | ok | § md-quote raw > {s} § grep-prefix raw conf/app.env:12:{s}
diff-add raw @@ -3,2 +3,3 @@⏎␠unchanged⏎+{s}⏎ § rg-column raw src/main.py:12:5:{s}
diff-remove raw @@ -3,3 +3,2 @@⏎-{s}⏎␠unchanged⏎ § crlf raw # head␍⏎{s}␍⏎# tail␍⏎
cat-n raw ␠␠␠␠␠1⇥# settings⏎␠␠␠␠␠2⇥{s}⏎␠␠␠␠␠3⇥# end § tabs raw row⇥7⇥{s}⇥ok
cat-arrow raw ␠␠␠11→# settings⏎␠␠␠12→{s}⏎ § double-quotes json It printed "{s}" twice
log-line raw 2025-03-04T05:06:07.890Z INFO worker-3 - {s} § html-pre html <pre>{s}</pre>
json-message json {"level":"info","message":"{s}"} § ansi-grep agrep {s}
json-2 json2 {"log":"{\"message\":\"{s}\"}"} § json-u-letter uletter {"message":"{s}"}
json-3 json3 {"a":"{\"b\":\"{\\\"c\\\":\\\"{s}\\\"}\"}"} § ansi-inside ainside {s}
json-newlines json {"stdout":"first\n{s}\nlast\n","code":0}
json-u-punct upunct {"message":"{s}"} § html-quot html <td>&quot;{s}&quot;</td>
percent-query pct GET /search?q={s}&page=2 HTTP/1.1 § shell-echo squote $ echo '{s}'
python-repr repr ['echo', '{s}', 'ok'] § ansi-around raw ␛[01;31m␛[K{s}␛[m␛[K
ansi-line raw ␛[90m12:01␛[0m ␛[33m{s}␛[0m done § yaml-block raw run: |⏎␠␠{s}⏎␠␠true⏎
heredoc raw cat > out.txt <<'EOF'⏎{s}⏎EOF § xml-cdata raw <v><![CDATA[{s}]]></v>
stack-trace raw Traceback (most recent call last):⏎ValueError: bad input: {s}
docker-compose-log raw web-1  | {s}⏎web-1  | ready
"""
PROSE = r"""
sentence raw I found {s} in the old wiki page and removed it
start raw {s} is what the deploy script printed § comma raw We saw alpha, {s}, omega
end raw The last line of the output was {s} § question raw Did you mean {s}?
full-stop raw It still used {s}. That was wrong. § md-bold raw Note: **{s}** is old
parentheses raw It fails (see {s}) every time § md-italics raw Note: _{s}_ is old
comment raw # TODO remove {s} § long-line raw {filler} {s} {filler}
"""
TOKEN_FORMS = r"""
shell-export raw export API_TOKEN={s} § json-value json {"id": 7, "value": "{s}"}
env-file raw NODE_ENV=production⏎API_TOKEN={s}⏎PORT=3000⏎ § ini raw [auth]⏎token = {s}⏎
yaml raw auth:⏎␠␠token: {s}⏎␠␠retries: 3⏎ § toml json [auth]⏎token = "{s}"⏎
xml html <token>{s}</token> § python json TOKEN = "{s}" § list-item raw - {s}⏎- next
js-object repr const cfg = { key: '{s}', n: 1 }; § cli-equals raw tool login --token={s}
curl-header raw curl -sS -H "Authorization: Bearer {s}" https://api.shop.io/me
http-header raw GET /me HTTP/1.1␍⏎Host: api.shop.io␍⏎X-Api-Key: {s}␍⏎␍⏎
git-remote pct origin⇥https://oauth2:{s}@git.internal/a/b.git (fetch)
docker-inspect json "Env": [⏎␠␠"PATH=/bin",⏎␠␠"API_TOKEN={s}"⏎] § csv raw 7,{s},active
cli-flag raw tool login --token {s} --yes § python-call repr client = Client('{s}')
md-link pct [log](https://ci.internal/run?access_token={s})
sql squote INSERT INTO t VALUES (1, '{s}');
"""
PAIR_FORMS = r"""
shell-export raw export {n}={s} § shell-quoted raw export {n}="{s}"
env-file raw NODE_ENV=production⏎{n}={s}⏎PORT=3000⏎ § yaml raw env:⏎␠␠{n}: {s}⏎
json-value json {"id": 7, "{n}": "{s}"} § yaml-lower raw conf:⏎␠␠{v}: '{s}'⏎
toml json [conf]⏎{v} = "{s}"⏎ § ini raw [conf]⏎{v} = {s}⏎ § xml html <{v}>{s}</{v}>
python json {n} = "{s}" § python-dict repr {'id': 7, '{v}': '{s}'}
docker-run raw docker run --rm -e {n}={s} app:latest § powershell raw $env:{n} = "{s}"
docker-inspect json "Env": [⏎␠␠"PATH=/bin",⏎␠␠"{n}={s}"⏎]
kubernetes-env json - name: {n}⏎␠␠value: "{s}"⏎
"""

# Kind, PEM label, first characters, columns, number of full lines.
BLOCKS = r"""
pem-rsa RSA¦_PRIVATE_KEY MIIEpAIBAAKCAQEA 64 25 § pem-ec EC¦_PRIVATE_KEY MHcCAQEEI 64 3
pem-pkcs8 PRIV¦ATE_KEY MIIEvQIBADANBgkqhkiG9w0BAQEFAASC 64 25 § putty PPK - 64 14
pem-pkcs8-encrypted ENCRYPTED¦_PRIVATE_KEY MIIFHDBOBgkqhkiG9w0BBQ0wQTAp 64 28
pem-dsa DSA¦_PRIVATE_KEY MIIBuwIBAAKBgQ 64 10
pem-legacy-encrypted RSA¦_PRIVATE_KEY - 64 25
openssh-rsa OPENSSH¦_PRIVATE_KEY b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ 70 36
openssh-ed25519 OPENSSH¦_PRIVATE_KEY b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQ 70 5
pgp-private PGP¦_PRIVATE_KEY_BLOCK lQOYB 64 28
"""
# Position, part kept, codec, head«prefix of each line¶line end»tail.
BLOCK_FORMS = r"""
whole all raw «¶⏎» § after-sentence all raw Here is the key:⏎«¶⏎» § crlf all raw «¶␍⏎»␍⏎
before-sentence all raw «¶⏎»⏎That was the key. § md-fence all raw ```⏎«¶⏎»⏎```
md-quote all raw «> ¶⏎» § md-indent all raw Key:⏎⏎«␠␠␠␠¶⏎» § cat-n all raw «␠␠␠␠%d⇥¶⏎»
cat-arrow all raw «␠␠␠␠%d→¶⏎» § diff-add all raw @@ -0,0 +1,28 @@⏎«+¶⏎»
diff-remove all raw @@ -1,28 +0,0 @@⏎«-¶⏎» § grep-prefix all raw «keys/id:¶⏎»
grep-number all raw «keys/id:%d:¶⏎» § yaml-block all raw key: |⏎«␠␠¶⏎»
toml-triple all raw key = '''⏎«¶⏎»⏎''' § heredoc all raw cat > id <<'EOF'⏎«¶⏎»⏎EOF
xml-cdata all raw <k><![CDATA[«¶⏎»]]></k> § json-value all json {"key":"«¶⏎»"}
json-2 all json2 {"log":"{\"key\":\"«¶⏎»\"}"} § json-crlf all json {"key":"«¶␍⏎»"}
json-3 all json3 {"a":"{\"b\":\"{\\\"k\\\":\\\"«¶⏎»\\\"}\"}"} § tab-indent all raw «⇥¶⏎»
json-u-punct all upunct {"key":"«¶⏎»"} § python-repr all repr KEY = '«¶⏎»'
js-concat all raw const k =⏎«␠␠"¶\n" +⏎»"; § env-file all json SSH_KEY="«¶⏎»"
html-pre all html <pre>«¶⏎»</pre> § percent all pct key=«¶⏎»&x=1
ansi-lines all raw «␛[32m¶␛[0m⏎»␛[0m § compose-log all raw «web-1  | ¶⏎»
timestamps all raw «2025-03-04T05:06:07Z ¶⏎» § hash-comment all raw «# ¶⏎»
cut-head nohead raw «¶⏎»⏎ § cut-tail notail raw «¶⏎» § cut-head-diff nohead raw «+¶⏎»
cut-head-cat-n nohead raw «␠␠␠␠%d⇥¶⏎» § cut-tail-cat-n notail raw «␠␠␠␠%d⇥¶⏎»
cut-tail-json notail json {"out":"«¶⏎» § cut-tail-grep notail raw «keys/id:%d:¶⏎»
"""

PLACEHOLDERS = """
changeme change-me ${VAR} $DB_PASS <token> <your-token-here> xxx xxxxxxxxxxxxxxxx
YOUR_API_KEY your-secret-here *** ******** ... {{password}} {{.Values.token}} %TOKEN%
$(get-token) [REDACTED] <redacted> null None true REPLACE_ME todo example
os.environ["X"] process.env.X env("X") secrets.TOKEN ${{secrets.X}} vault:kv/app#key
"""
CARRIERS = """
password: {x}
API_KEY={x}
export AUTH_TOKEN={x}
"client_secret": "{x}"
"""
LOOK_ALIKES = r"""
uuid request_id={U} § uuid Deleted pod web-{U} in namespace default § sha commit {h40}
uuid trace {U} span {h16} § sha HEAD is now at {h7} Fix the token refresh
sha index {h7}..{h7} 100644 § sha {h64}  dist/app.tar.gz § sha sha256:{h64}
sha md5sum: {h32} *photo.jpg § sha FROM python:3.11@sha256:{h64} § public-key age1{f58}
sha "etag": "W/\"{h32}\"" § sha container {h12} exited with code 0 § typed password: str
integrity "integrity": "sha512-{b86}==" § integrity --hash=sha256:{h64} \
integrity integrity="sha384-{b64}" crossorigin="anonymous" § known AK¦IAIOSFODNN7EXAMPLE
integrity github.com/pkg/errors v0.9.1 h1:{b43}= § integrity checksum = "{h64}"
base64-image <img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b160}==">
base64-image background: url(data:image/gif;base64,R0lGODlhAQABAIAAAAAA{b60}=)
base64-font src: url(data:font/woff2;base64,d09GMgABAAAAA{b200}) format("woff2")
source-map //# sourceMappingURL=app.{h20}.js.map § known s¦k-ant-api03-...
minified !function(e,t){var n=t.{l2}=e({d4});return n&&n.{l5}("{l6}")}(a,b);
minified static/js/main.{h8}.chunk.js 142.{d2} kB § known OPENAI_API_KEY=s¦k-...
public-key ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b360} dev@laptop
public-key ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} dev@laptop
public-key SHA256:{b43} dev@laptop (ED25519) § known Authorization: Bearer $TOKEN
public-key RSA key fingerprint is SHA256:{b43}. § known mysql -u root -p shop
public-key pk_test_placeholder and pk_live_placeholder are publishable
known aws_access_key_id = AK¦IAIOSFODNN7EXAMPLE § typed token: Optional[str] = None
known wJalrXUtn¦FEMI/K7MDENG/bPxRfiCYEXAMPLEKEY § typed readonly apiKey: string;
known https://hooks.sl¦ack.com/services/T00000000/B00000000/XXXXXXXX
known gh¦p_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx § typed private final String password;
known postgres:/¦/user:password@localhost:5432/db § code token = get_token()
known postgres:/¦/${DB_USER}:${DB_PASS}@db/app § typed password VARCHAR(255) NOT NULL,
known https://<user>:<token>@github.com/org/repo.git § code if password == "":
known Authorization: Bearer <access_token> § typed secret_key: SecretStr = Field(...)
known curl -u "$USER:$PASS" https://api.example.com § code api_key = config["api_key"]
typed def login(user: str, password: str) -> bool: § code self.password = password
typed fn set_token(&mut self, token: &str) § typed api_key: Annotated[str, Header()]
typed "password": {"type": "string", "minLength": 8} § code token := os.Getenv("TOKEN")
code password = getpass.getpass("Password: ") § code assert token.startswith("gh¦p_")
code secret = hashlib.sha256(data).hexdigest() § code max_tokens=4096, temperature=0.2
code const token = await auth.getToken(); § code for token in tokenizer.tokenize(text):
code headers["Authorization"] = f"Bearer {token}" § code PASSWORD_MIN_LENGTH = 12
code raise ValueError("password must not be empty") § code password = var.db_password
code password = input("New password: ").strip() § code re.compile(r"AK¦IA[0-9A-Z]{16}")
code SECRET_KEY = env.str("SECRET_KEY") § code token: ${{ secrets.GITHUB_TOKEN }}
code passwordField.setText(user.getPassword()); § code csrf_token = generate_csrf()
code secretKeyRef: {name: db, key: password} § code token_count = len(tokens)
code <input type="password" name="password" id="password"> § bitcoin-address bc1q{f38}
code client_secret=settings.CLIENT_SECRET, § prose Password: (leave empty for none)
prose The password must have at least twelve characters. § ethereum-address 0x{h40}
prose Enter your password when asked; it is not shown. § file-name src/utils/secrets.py
prose I forgot my password, can you send a reset link? § number order {n1}{d15} shipped
prose The token expired, so I asked for a new one. § number 0x{h16} in __libc_start_main
prose Set the API key in the environment before you start.
prose Secrets are read from the vault at start-up. § url git@github.com:org/{l7}.git
prose Authorization: Bearer tokens are sent in a header.
prose Basic authentication sends the password with each request.
prose The secret to good tests is isolation. § number epoch={n1}{d9} pid={d5} port=5432
prose Rotate the private key every year and revoke the old one.
prose error: invalid token at line 12, column 7 § number MAC 02:{h2}:{h2}:{h2}:{h2}:{h2}
prose Unexpected token '}' in JSON at position 41 § docker-layer {h12}: Pull complete
prose Used 18234 tokens (cache read: 90112 tokens)
prose fatal: Authentication failed for 'https://github.com/org/repo.git/'
prose Permission denied (publickey,password). § arn arn:aws:iam::{n1}{d11}:role/deploy
prose password authentication failed for user "postgres"
prose The cookie is named sessionid and lives for two weeks.
version app 2.{d1}.{d2}-rc.{d1}+build.{d4} § css .btn-{l5}{color:#{h6};background:#{h6}}
version "node_modules/lodash": {"version": "4.17.{d2}"}
version torch-2.{d1}.0+cu121-cp311-cp311-manylinux_2_28_x86_64.whl
css --shadow-{l4}: 0 1px 2px rgba({d2}, {d2}, {d2}, 0.5);
licence SPDX-License-Identifier: Apache-2.0 § url https://www.youtube.com/watch?v={u11}
licence Permission is granted to use this software for any purpose.
test-name tests/test_secrets.py::test_password_is_hashed PASSED
test-name ok 12 - rejects an expired access token
test-name describe("resetPassword", () => {
test-name FAILED test_auth.py::TestToken::test_refresh_token - AssertionError
file-name modified:   config/credentials.yml.enc
file-name -rw------- 1 dev dev 411 Mar  4 05:06 id_ed25519.pub
file-name import { PasswordInput } from "./components/PasswordInput";
url https://docs.example.com/auth/tokens#{l8}-{l6}
url https://cdn.example.com/assets/{h32}.png?v={d8}
aws-resource i-0{h16} vpc-0{h16} subnet-0{h16}
google-client {n1}{d11}-{k32}.apps.googleusercontent.com
"""

RED, RESET = "\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"
FILLER = "step took 340 ms and wrote 7 files; " * 40
FIELD = re.compile(r"\{(?:([A-Za-z])(\d+)|([A-Z]))\}")


def _json(text: str) -> str:
    """Escape a text as the inside of a JSON string."""
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _upunct(text: str) -> str:
    r"""Escape a text for JSON with `\uXXXX` for punctuation, as .NET and Go do."""
    plain = _json(text).replace('\\"', '"')
    return re.sub("[\"'<>&+=]", lambda m: f"\\u{ord(m[0]):04X}", plain)


def _repr(text: str) -> str:
    """Escape a text as the inside of a single-quoted Python string."""
    return _json(text).replace('\\"', '"').replace("'", "\\'")


CODECS: dict[str, Codec] = {
    "raw": str,
    "json": _json,
    "json2": lambda text: _json(_json(text)),
    "json3": lambda text: _json(_json(_json(text))),
    "upunct": _upunct,
    "html": html.escape,
    "pct": lambda text: quote(text, safe=""),
    "repr": _repr,
    "squote": lambda text: text.replace("'", "'\\''"),
}


def _pick(rng: random.Random, alphabet: str, count: int) -> str:
    """Return `count` random characters of an alphabet."""
    return "".join(rng.choices(alphabet, k=count))


def _b64(data: bytes) -> str:
    """Encode bytes as URL-safe Base64 without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _github(rng: random.Random) -> str:
    """Return 30 random characters with their CRC-32 in base 62."""
    body, digits = _pick(rng, ALNUM, 30), ""
    value = zlib.crc32(body.encode())
    for _ in range(6):
        value, digit = divmod(value, 62)
        digits = ALNUM[digit] + digits
    return body + digits


def _base58check(payload: bytes) -> str:
    """Encode a payload with its double SHA-256 checksum in Base58."""
    check = hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    value, out = int.from_bytes(payload + check, "big"), ""
    while value:
        value, digit = divmod(value, 58)
        out = BASE58[digit] + out
    return out


def _jwt(rng: random.Random, algorithm: str, signature: int) -> str:
    """Return a signed-looking JSON Web Token."""
    issued = rng.randrange(16 * 10**8, 18 * 10**8)
    claims = {"sub": _pick(rng, ALPHABETS["n"], 9), "iat": issued}
    objects = ({"alg": algorithm, "typ": "JWT"}, claims)
    texts = [json.dumps(item, separators=(",", ":")) for item in objects]
    signed = ".".join(_b64(text.encode()) for text in texts)
    return signed + "." + _pick(rng, ALPHABETS["u"], signature)


def _password(rng: random.Random) -> str:
    """Return a password as people or password managers choose it."""
    style = rng.randrange(4)
    if style == 0:
        return "v" + _pick(rng, ALNUM + "!*+-_.^~@#", rng.randrange(13, 21)) + "x"
    if style == 1:
        return _pick(rng, ALNUM, rng.randrange(10, 25))
    first, second = rng.sample(WORDS, 2)
    if style == 2:
        return f"{first.title()}{second.title()}{rng.randrange(10, 9999)}!"
    return f"{first}-{second}-{rng.choice(WORDS)}-{rng.randrange(10, 99)}"


def _basic(rng: random.Random) -> str:
    """Return the Base64 of a user and a password."""
    return base64.b64encode(f"deploy:{_password(rng)}".encode()).decode()


SPECIAL: dict[str, Callable[[random.Random], str]] = {
    "D": lambda rng: _b64(_pick(rng, "123456789", 18).encode()),
    "G": _github,
    "J": lambda rng: _jwt(rng, "HS256", 43),
    "M": lambda rng: " ".join(rng.sample(WORDS, 12)),
    "P": _password,
    "Q": lambda rng: _jwt(rng, "RS256", 342),
    "U": lambda rng: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
    "V": lambda rng: base64.b64encode(_password(rng).encode()).decode(),
    "W": lambda rng: _base58check(b"\x80" + rng.randbytes(32) + b"\x01"),
    "X": lambda rng: _base58check(
        b"\x04\x88\xad\xe4" + bytes(9) + rng.randbytes(32) + b"\0" + rng.randbytes(32)
    ),
    "Z": _basic,
}


def _table(text: str, columns: int) -> list[list[str]]:
    """Split a table into rows of cells, the last of which may hold blanks."""
    rows = re.split(r"\n| § ", text.strip())
    cells = [row.split(None, columns - 1) for row in rows if row]
    return [[cell.translate(PICTURES) for cell in row] for row in cells]


def _fill(template: str, rng: random.Random) -> str:
    """Replace the fields of a template by random values."""

    def field(match: re.Match[str]) -> str:
        if match[1]:
            return _pick(rng, ALPHABETS[match[1]], int(match[2]))
        return SPECIAL[match[3]](rng)

    return FIELD.sub(field, template)


def _parts(template: str, rng: random.Random) -> Parts:
    """Fill a template and split it into the text before, the secret, and the rest."""
    text = _fill(template, rng)
    if "«" not in text:
        return "", text, ""
    before, rest = text.split("«")
    secret, after = rest.split("»")
    return before, secret, after


def _encode(parts: Parts, codec: str, rng: random.Random) -> Parts:
    """Write the parts in the form that a codec gives them."""
    before, secret, after = parts
    if codec == "agrep":
        if before:
            return f"{RED}{before}{RESET}", secret, after
        return f"{RED}{secret[:4]}{RESET}", secret[4:], after
    if codec == "ainside":
        cut = len(secret) // 2
        return before, f"{secret[:cut]}{RED}{secret[cut:]}{RESET}", after
    if codec == "uletter":
        spots = [i for i, char in enumerate(secret) if char.isalnum()]
        spot = rng.choice(spots)
        letter = f"\\u{ord(secret[spot]):04x}"
        secret = _json(secret[:spot]) + letter + _json(secret[spot + 1 :])
        return _json(before), secret, _json(after)
    write = CODECS[codec]
    return write(before), write(secret), write(after)


def _place(parts: Parts, codec: str, form: str, rng: random.Random) -> tuple[str, str]:
    """Put encoded parts into a position; return the text and the secret in it."""
    before, secret, after = _encode(parts, codec, rng)
    text = form.replace("{filler}", FILLER).replace("{s}", before + secret + after)
    return text, secret


def _lines(tier: str, kind: str, template: str, forms: str) -> list[Row]:
    """Return the rows of a kind that is one line long."""
    rows: list[Row] = []
    for position, codec, form in _table(forms, 3):
        rng = random.Random(f"{SEED}:{kind}:{position}")
        text, secret = _place(_parts(template, rng), codec, form, rng)
        rows.append((tier, kind, position, text, secret))
    return rows


def _pairs(tier: str, kind: str, name: str, value: str) -> list[Row]:
    """Return the rows of a kind that is a variable name with a value."""
    rows: list[Row] = []
    lower = name.lower()
    styles = ("{n}=«{x}»", "{n}: «{x}»", '"{v}": "«{x}»"', "{v} = '«{x}»'")
    for number, (position, codec, form) in enumerate(_table(WRAPPERS + PROSE, 3)):
        style = styles[(number + len(kind)) % 4].replace("{x}", value)
        line = style.replace("{n}", name).replace("{v}", lower)
        rng = random.Random(f"{SEED}:{kind}:{position}")
        text, secret = _place(_parts(line, rng), codec, form, rng)
        rows.append((tier, kind, position, text, secret))
    forms = PAIR_FORMS.replace("{n}", name).replace("{v}", lower)
    return rows + _lines(tier, kind, value, forms)


def _block(row: list[str], rng: random.Random) -> tuple[Lines, Lines, Lines]:
    """Return the opening, the secret and the closing lines of a key file."""
    kind, label, first, columns, count = row
    first, width = first.replace("-", ""), int(columns)
    body = [_pick(rng, ALPHABETS["b"], width) for _ in range(int(count))]
    body[0] = (first + body[0])[:width]
    if kind == "putty":
        public = [_pick(rng, ALPHABETS["b"], width) for _ in range(6)]
        head = ["PuTTY-User-Key-File-3: ssh-rsa", "Encryption: none", "Comment: work"]
        head += ["Public-Lines: 6", *public, f"Private-Lines: {count}"]
        return head, body, ["Private-MAC: " + _pick(rng, ALPHABETS["h"], 64)]
    name, dashes = label.replace("_", " "), "-" * 5
    head = [f"{dashes}BEGIN {name}{dashes}"]
    if kind == "pem-legacy-encrypted":
        vector = _pick(rng, ALPHABETS["H"], 32)
        head += ["Proc-Type: 4,ENCRYPTED", f"DEK-Info: AES-128-CBC,{vector}", ""]
    if kind == "pgp-private":
        head.append("")
        body += ["=" + _pick(rng, ALPHABETS["b"], 4)]
    return head, body, [f"{dashes}END {name}{dashes}"]


def _block_rows(row: list[str]) -> list[Row]:
    """Return the rows of a key file; the secret is one line of its body."""
    rows: list[Row] = []
    for position, keep, codec, form in _table(BLOCK_FORMS, 4):
        rng = random.Random(f"{SEED}:{row[0]}:{position}")
        head, body, tail = _block(row, rng)
        drop = min(3, len(body) - 2)
        if keep == "nohead":
            head, body = [], body[drop:]
        if keep == "notail":
            tail, body = [], body[:-drop]
        before, rest = form.split("«")
        middle, after = rest.split("»")
        prefix, end = middle.split("¶")
        write = CODECS[codec]
        lines = [
            prefix.replace("%d", str(number)) + write(line)
            for number, line in enumerate(head + body + tail, 1)
        ]
        secret = write(rng.choice([line for line in body if len(line) > 9]))
        text = before + write(end).join(lines) + after
        rows.append(("definite", row[0], position, text, secret))
    return rows


def generate() -> list[Row]:
    """Return rows of tier, kind, position, text and the secret as the text holds it."""
    rows: list[Row] = []
    anywhere = WRAPPERS + PROSE
    for kind, template in _table(TOKENS, 2):
        rows += _lines("definite", kind, template, anywhere + TOKEN_FORMS)
    for kind, template in _table(VENDOR_LINES, 2):
        rows += _lines("definite", kind, template, anywhere)
    for row in _table(BLOCKS, 5):
        rows += _block_rows(row)
    for kind, template in _table(NAMED_LINES, 2):
        forms = WRAPPERS if kind.startswith("^") else anywhere
        rows += _lines("contextual", kind.lstrip("^"), template, forms)
    for tier, table in (("definite", VENDOR_PAIRS), ("contextual", NAMED_PAIRS)):
        for kind, name, value in _table(table, 3):
            rows += _pairs(tier, kind, name, value)
    return rows


def generate_negatives() -> list[tuple[str, str]]:
    """Return pairs of kind and a text that holds no secret."""
    rows: list[tuple[str, str]] = []
    for value in PLACEHOLDERS.split():
        for number, carrier in enumerate(CARRIERS.strip().splitlines()):
            if '"' not in value or '"' not in carrier:
                rows.append((f"placeholder-{number}", carrier.replace("{x}", value)))
    for kind, template in _table(LOOK_ALIKES, 2):
        for number in range(5 if FIELD.search(template) else 1):
            rng = random.Random(f"{SEED}:{kind}:{template}:{number}")
            rows.append((kind, _fill(template, rng)))
    for label in ("PUBLIC_KEY", "CERTIFICATE", "CERTIFICATE_REQUEST"):
        for number in range(4):
            rng = random.Random(f"{SEED}:{label}:{number}")
            parts = _block(["public", label, "MIIBIjANBgkqhkiG9w0B", "64", "7"], rng)
            rows.append(("public-block", "\n".join([*parts[0], *parts[1], *parts[2]])))
    return rows
