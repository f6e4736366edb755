"""Addresses that work for everybody who knows them, such as webhooks."""

from __future__ import annotations

from leslied.redact.rules._rule import UUID, Rule

RULES = tuple(
    Rule(
        "webhook",
        (host,),
        rf"{host.replace('.', '[.]')}/(?P<secret>{path})",
        after=500,
    )
    for host, path in (
        ("hooks.slack.com", r"(?:services|workflows|triggers)/[A-Za-z0-9/]{20,100}"),
        ("g.alchemy.com", r"(?:v2|nft/v\d)/[\w-]{32}"),
        ("infura.io", "(?:ws/)?v3/[a-f0-9]{32}"),
        ("quiknode.pro", "[a-f0-9]{40}"),
        ("discord.com", r"api/(?:v\d{1,2}/)?webhooks/\d{15,25}/[\w-]{40,100}"),
        ("discordapp.com", r"api/(?:v\d{1,2}/)?webhooks/\d{15,25}/[\w-]{40,100}"),
        *(
            (f"hook.{region}.make.com", "[a-z0-9]{30,36}")
            for region in ("eu1", "eu2", "us1", "us2")
        ),
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
        ("api.netlify.com", "build_hooks/[a-f0-9]{24}"),
        ("api.vercel.com", r"v1/integrations/deploy/prj_\w{20,40}/\w{8,24}"),
        (
            "api.cloudflare.com",
            rf"client/v4/(?:pages/webhooks/deploy_hooks|workers/builds/deploy_hooks)/{UUID}",
        ),
        ("api.render.com", r"deploy/srv-\w{16,24}\?key=[\w-]{8,40}"),
        ("calendar.google.com", r"calendar/ical/[\w.%@+-]{3,120}/private-[a-f0-9]{32}"),
        ("webexapis.com", r"v1/webhooks/incoming/[\w-]{60,200}"),
        ("api.ciscospark.com", r"v1/webhooks/incoming/[\w-]{60,200}"),
    )
)
"""Of an address, what follows the host is the secret."""
