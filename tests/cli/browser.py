# SPDX-License-Identifier: Apache-2.0
"""Opens a report in a headless Chromium, over its debugging pipe: browser.py CHROMIUM PAGE [SHOTS]

Says what is wrong, one line each, and ends with 1; with SHOTS, a folder, leaves screenshots there.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile

chromium, page = sys.argv[1], os.path.abspath(sys.argv[2])
shots = sys.argv[3] if len(sys.argv) > 3 else None
problems = []


class Browser:
    def __init__(self, profile):
        to_read, self.to_write = os.pipe()
        self.from_read, from_write = os.pipe()
        keep = [os.dup2(fd, want) for fd, want in ((to_read, 103), (from_write, 104))]

        def place():
            os.dup2(103, 3)
            os.dup2(104, 4)
        self.process = subprocess.Popen(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--remote-debugging-pipe", "--user-data-dir=" + profile, "about:blank"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for fd in keep + [to_read, from_write]:
            os.close(fd)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None

    def message(self):
        while b"\0" not in self.buffer:
            data = os.read(self.from_read, 1 << 20)
            if not data:
                raise SystemExit("the browser ended")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def call(self, method, **params):
        self.number += 1
        request = {"id": self.number, "method": method, "params": params}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.to_write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def ask(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise SystemExit(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())


def check(good, what):
    if not good:
        problems.append(what)


def look(browser, width, height, scheme):
    name = f"{width}-{scheme}"
    browser.events.clear()
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                 mobile=width < 600)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.call("Page.navigate", url="file://" + page)
    browser.wait_for("Page.loadEventFired")
    for event in browser.events:
        method, params = event.get("method"), event.get("params", {})
        if method in ("Runtime.exceptionThrown", "Log.entryAdded") or (
                method == "Runtime.consoleAPICalled" and params.get("type") in ("error", "warning", "assert")):
            problems.append(f"{name}: console: {json.dumps(params)[:300]}")
        if method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file://" + page, "data:")):
            problems.append(f"{name}: asked for {params['request']['url']}")
        if method == "Page.javascriptDialogOpening":
            problems.append(f"{name}: a dialog opened")
    check(browser.ask("document.documentElement.scrollWidth") <= width, f"{name}: the page is wider than the window")
    for part in ("verdict", "environment", "claims", "worse"):
        box = browser.ask(f"(b => b && [b.top, b.bottom, b.width])(document.getElementById('{part}')?.getBoundingClientRect())")
        check(box and box[2] > 100, f"{name}: no part {part}")
        check(box and (width < 600 or box[1] <= height), f"{name}: {part} is not on the first screen")
        check(box and (width >= 600 or part != "verdict" or box[1] <= height), f"{name}: the verdict is not on the first screen")
    bad = browser.ask("""Array.from(document.querySelectorAll('.plot svg')).filter(s => {
        const b = s.getBoundingClientRect(), drawn = s.querySelector('path,polygon,rect,use');
        return b.width < 200 || b.height < 40 || !drawn || !s.querySelector('text'); }).length""")
    check(bad == 0, f"{name}: {bad} plots are not drawn")
    check(browser.ask("Array.from(document.images).every(i => i.complete && i.naturalWidth > 0)"), f"{name}: an image is missing")
    ink = browser.ask("getComputedStyle(document.body).color")
    ground = browser.ask("getComputedStyle(document.body).backgroundColor")
    lightness = [sum(map(float, c[c.index("(") + 1:-1].split(",")[:3])) for c in (ink, ground)]
    check((lightness[0] > lightness[1]) == (scheme == "dark"), f"{name}: ink {ink} on {ground}")
    texts = browser.ask("""Array.from(document.querySelectorAll('.plot svg text')).map(t => {
        const s = t.ownerSVGElement; return parseFloat(getComputedStyle(t).fontSize) * s.getBoundingClientRect().width / s.viewBox.baseVal.width; })""")
    check(not texts or min(texts) > 5.5, f"{name}: text of {min(texts or [9]):.1f} px in a plot")
    if shots:
        for kind, clip in (("first", height), ("whole", min(browser.ask("document.documentElement.scrollHeight"), 15000))):
            image = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                                 clip={"x": 0, "y": 0, "width": width, "height": clip, "scale": 1})
            with open(os.path.join(shots, f"{name}-{kind}.png"), "wb") as file:
                file.write(base64.b64decode(image["data"]))


def check_sorting(browser):
    values = "Array.from(document.querySelectorAll('#all tbody tr')).map(r => r.cells[{0}].dataset.v).filter(v => v !== undefined).map(Number)"
    column = browser.ask("Array.from(document.querySelectorAll('#all th')).findIndex(h => /^(after|figure)/.test(h.textContent))")
    rows = browser.ask("document.querySelectorAll('#all tbody tr').length")
    click = f"document.querySelectorAll('#all th')[{column}].querySelector('button').click()"
    browser.ask(click)
    up = browser.ask(values.format(column))
    check(len(up) > 1 and up == sorted(up), "the table does not sort upwards")
    browser.ask(click)
    down = browser.ask(values.format(column))
    check(down == sorted(down, reverse=True) and sorted(down) == sorted(up), "the table does not sort downwards")
    check(browser.ask("document.querySelectorAll('#all tbody tr').length") == rows, "sorting lost rows")
    browser.ask("(i => { i.value = 'h2d'; i.dispatchEvent(new Event('input')); })(document.querySelector('.filter input'))")
    shown = browser.ask("Array.from(document.querySelectorAll('#all tbody tr')).filter(r => !r.hidden).map(r => r.textContent)")
    check(0 < len(shown) < rows and all("h2d" in t.lower() for t in shown), "the filter does not filter")


with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
    b = Browser(profile)
    try:
        target = next(t for t in b.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        b.session = b.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            b.call(domain + ".enable")
        for size in ((1440, 900), (360, 740)):
            for scheme in ("light", "dark"):
                look(b, *size, scheme)
        check_sorting(b)
    finally:
        b.process.kill()
        b.process.wait()
print("\n".join(problems))
sys.exit(1 if problems else 0)
