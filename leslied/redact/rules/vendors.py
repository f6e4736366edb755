"""Vendors whose keys have no prefix, and no shape that only they have.

A value of a token's shape is secret if it is assigned to something of such a name. A
name must be one that programs use for nothing else: no words of the English language.
Vendors whose keys have a known length are in `named.py`.
"""

from __future__ import annotations

from functools import cache

from leslied.redact.rules._rule import MIXTURE, TOKEN, UUID, WORD_END, Rule
from leslied.redact.rules.named import ASSIGNMENT

_AI_AND_SEARCH = """
agentops ai21 anyscale apiflash assembly_ai aylien baseten brightdata browseruse
cartesia cerebrium chroma_api clarifai comet_ml cometml composio coze_api dagshub
dashscope deepai deepinfra deepl-api deepl_ deeplapi deepseek diffbot edenai elevenlabs
exa_api fal_ai falai friendli heygen hyperbolic ideogram klingai lakera lambdalabs
langdock leptonai lightningai linkup_api mem0 mixedbread monkeylearn moonshot nebius
neptune_api nlpcloud nomic_api novita octoai openai_api openpipe openrouter
oxylabs parsehub phind portkey predibase promptlayer qdrant rekaai remove_bg removebg
retellai roboflow sambanova scaleserp scrapeowl scraperapi scraperbox scrapestack
scrapfly scrapingant scrapingbee scrapingdog searchapi serpapi serper serphouse
serpstack serpwow siliconflow speechmatics stability_ai stabilityai textcortex
unstructured_api upstage vapi_api vapi_private vectara voiceflow weaviate webscraper
webscrapingapi wolframalpha you_api zenrows zenscrape zenserp zilliz zyte
"""
_DEVELOPMENT = """
cypress_record cypressrecord
abuseipdb airbrake airbyte alienvault apimatic apimetrics appcenter appcircle
appdynamics appflow appsignal appveyor aptible auth0 baremetrics betterstack
betteruptime bitbar bitbucket bitrise blazemeter browserstack bugherd bugsnag chartmogul
checkly checklyhq checkmarx chronosphere clickup_api codacy codeclimate codefresh
codemagic codequiry codesandbox codeship coralogix cronitor crowdin datadome detectify
dockerhub docparser doppler_ expo_token fivetran fullstory gitguardian gitter greynoise
growthbook happo hasura healthchecks highlight_io hightouch honeybadger hoppscotch humio
instana ipqualityscore jfrog jumpserver knapsackpro lambdatest launchable lightstep
loadmill logdna loggly logrocket logtail logz_io logzio lokalise mezmo mixpanel
nightfall nightwatch opsramp optimizely packagecloud papertrail percy_token phrase_api
pingdom pivotaltracker poeditor productboard qase_ qualys raygun readthedocs redocly
rudderstack runscope saucelabs scalyr scrutinizer securitytrails semaphoreci shotstack
signalfx signoz site24x7 smartbear solarwinds sourcery spacelift sqreen statsig
statuscake statuspage statuspal sumo_logic tenable testingbot testrail thousandeyes
transifex uptimerobot urlscan useresponse usertesting veracode versioneye wakatime
whitesource zeplin zerotier
"""
_INFRASTRUCTURE = """
aiven appwrite arangodb astronomer backblaze brightbox bunny_net bunnycdn cloud66
cloudamqp cloudelements cloudimage cloudkarafka cloudmersive cloudsigma contentstack
cosmosdb couchbase datocms dnsimple dnsmadeeasy dreamhost duckdns dynadot dynu_ equinix
exoscale firebase gandi_ gcore_ godaddy graphcms graphdb hostinger hygraph imagekit
imgix jelastic kamatera kinsta kintone koyeb leaseweb liquidweb meilisearch metabase
namecheap namesilo netbird netcup netdata nhost_ northflank oracle_cloud_ ovhcloud
packet_api paperspace phoenixnap porkbun prismic qovery qstash qubole rackspace
redislabs sanity_ scalegrid scalr singlestore sirv_ stackhero stackpath stitchdata
storyblok strapi surrealdb terraform_cloud tigerdata timescale turso_ tursodb typesense
uploadcare upstash wasabi_ weaveworks wpengine yandex zeabur zerossl
"""
_CUSTOMERS = """
activecampaign acuityscheduling aftership aircall airship_ appcues appfollow appointedd
apptivo attentive autoklose autopilothq avaza_ axonaut bandwidth_api billomat bombbomb
brandfetch braze_ bulksms buttercms campaignmonitor campayn capsulecrm clearbit
clickatell clickhelp clicksend clinchpad clockify clockworksms closeio companyhub
constantcontact convertapi convertkit courier_api crisp_ customer_io customerio
d7networks delighted_ dialpad dotdigital drchrono drift_api dyspatch elasticemail
emailoctopus enablex everhour flodesk flowdock formcraft freshdesk freshsales
freshservice freshworks frontapp fullcontact geckoboard getgist getresponse gorgias
groovehq happyfox harvestapp hellosign helpcrunch helpscout hubapi hubspot infobip
insightly instatus intercom_ iterable jotform kickbox klaviyo klipfolio kustomer kylas
leadfeeder leankit lemlist linenotify liveagent livechatinc livestorm loops_api
magicbell mailboxlayer mailerlite mailmodo mailsac mailtrap marketo mattermost mavenlink
meistertask mixmax moosend mouseflow nethunt neverbounce newscatcher nexmo nicereply
nimblecrm novu_api nozbe nutshell nylas omnisend onepagecrm onfleet overloop pandadoc
paperform partnerstack paymoapp peopledatalabs pepipost pipedrive plivo pointagram
prodpad proposify pushbullet pushover pushwoosh reachmail refiner_ replyio revampcrm
ringcentral ritekit rocketreach salesblink salesflare salesloft salesmate sendcloud
sendpulse sendwithus signable signalwire signaturit simplesat sinch skrapp smartlook
smartsheet smooch snov_io sparkpost storychief surveymonkey surveysparrow survicate
tally_api tallyfy teamgate teamviewer teamworkcrm telesign telnyx textlocal textmagic
timecamp todoist toggl typetalk uplead useproof userflow userlike usersnap vbout vonage
voodoosms vouchery walkme wati_ webex_ wistia woopra wootric workstack wrike yousign
zenkit zerobounce zipbooks zoho_ zohocrm zonka
"""
_FINANCE = """
alegra alpaca_ alpha_vantage alphavantage amadeus appsumo avalara bigcommerce billcom
binance bitfinex bitflyer bitget bitmex bitpay bitso_ bitstamp bscscan btcpay bybit
cashfree cexio chargebee chargify checkoutcom coinapi coingecko coinlayer coinmarketcap
coinpayments commercejs covalenthq cryptocompare currencyapi currencycloud
currencyfreaks currencylayer currencyscoop dwolla ecwid etherscan ethplorer exchangerate
fastforex fattura24 financialmodelingprep fixerio gatehub glassnode helius huobi iexapis
iexcloud infura instamojo intrinio invoiced iyzico juspay klarna kucoin lemonsqueezy
lunchmoney luno_ magento marketstack mempool_ moonclerk moonpay moralis nansen
nasdaqdatalink netsuite nowpayments oanda okx_ omise_ opensea paymongo payoneer
paypal_client_secret paypal_secret paystack payu_ pinata pinpayments poloniex polygon_io
polygonio polygonscan printful printify quaderno quandl quickbooks quicknode recurly
remitly shipengine shippo shipstation shopware simfin snipcart squareup sslcommerz
statista stockdata tatumio taxjar tiingo tradier transferwise twelvedata vatlayer veriff
wepay whoxy woocommerce worldpay xendit xero_ yahoofinance ynab_ youneedabudget zuora
"""
_DATA_AND_MEDIA = """
accuweather adafruit adzuna airvisual aletheiaapi amboss apilayer apitemplate artsy_
audd_ autodesk aviationstack ayrshare bannerbear besttime blitapp blynk_ browshot
buddyns calendarific calorieninja carboninterface censys cloudconvert cloverly
conversiontools countrylayer craftmypdf currentsapi d-id_ detectlanguage disqus dovico
dreamstudio dynalist edamam eventbrite everypixel extractorapi faceplusplus facepp
feedly fetchrss filestack fitbit flightapi flightaware flightlabs flightstats foursquare
fulcrumapp geoapify geocodify geocodio geonames getgeoapi getty_ giphy goodreads
graphhopper gtmetrix guardianapi gyazo happyscribe hcaptcha here_api hereapi holidayapi
html2pdf hybiscus hypertrack iconfinder igdb_ imagga ip2location ipapi ipdata_
ipgeolocation ipify ipinfo ipinfodb ipstack iqair jikan languagelayer lastfm linkpreview
listennotes locationiq loginradius mapbox mapquest maptiler marvel_api meaningcloud
mediastack meteomatics meteostat mindmeister mockaroo mozscape musixmatch nasa_api
new_relic newrelic newsapi newsdata nftport numverify nutritionix nytimes onelogin
opencage opencagedata openuv owlbot pandascore pastebin pdflayer
pdfmonkey pdfshift pexels pexip_ photoroom pixabay pixela plantnet positionstack
postageapp purpleair pushy_ rawg_ rebrandly restpack riotgames rocketchat route4me
satismeter screenshotapi screenshotlayer screenshotone selectpdf sheety_ shutterstock
sigopt skybiometry smartystreets soundcloud spoonacular sportmonks sportradar statickit
stormglass supernotes tatum_ themoviedb thetvdb thingspeak ticketmaster timezoneapi
timezonedb tinify tinypng tmdb_ tomorrow_io tomorrowio tomtom transloadit travelpayouts
tumblr twingate unsplash upcdatabase userstack vimeo_ visualcrossing vpnapi walkscore
weatherapi weatherbit weatherstack webflow whoisxml windy_ worldcoinindex worldtides
worldweather yelp_ zamzar zipcodeapi zipcodebase
"""
_TABLES = (
    *(_AI_AND_SEARCH, _DEVELOPMENT, _INFRASTRUCTURE),
    *(_CUSTOMERS, _FINANCE, _DATA_AND_MEDIA),
)
NAMES = tuple(name for table in _TABLES for name in table.split())
_CHECKSUM = r"(?![\w./+-]{0,40}: ?(?:[0-9a-f]{40}|[0-9a-f]{64})\b)"
"""A lock file of CocoaPods assigns a checksum to the name of a package."""
_VALUE = rf"(?!sha\d{{3}}-)(?:{UUID}|{TOKEN}|{MIXTURE}[\w-]{{20,128}}={{0,2}})"


def _make_kind(name: str) -> str:
    """Return the name of a kind, which has no underscore."""
    return f"{name.strip('_-').replace('_', '-')}-key"


def _make_rule(name: str) -> Rule:
    """Return the rule of a vendor.

    The pattern does not repeat the name, which is the anchor, so that names of equal
    length share one pattern.
    """
    return Rule(_make_kind(name), (name,), _make_regex(len(name)), after=300)


@cache
def _make_regex(length: int) -> str:
    """Return the pattern of a name of this length and its value."""
    return rf"[\w-]{{{length}}}{_CHECKSUM}{ASSIGNMENT}(?P<secret>{_VALUE}){WORD_END}"


RULES = tuple(_make_rule(name) for name in NAMES)
