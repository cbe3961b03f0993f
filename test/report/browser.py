"""Chromium without a window, for tests of pages: spoken to by the DevTools protocol over two pipes.

  with Browser() as browser:
      browser.open("/tmp/page.html", width=400)
      browser.run("document.title")
"""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find():
    """The browser's program; None where there is none."""
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="browser-")
        to_read, self.to = os.pipe()
        self.source, to_write = os.pipe()
        # It reads from descriptor 3 and writes to 4; those of the pipes may be these.
        keep = (to_read, to_write)
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec 8<&{to_read} 9>&{to_write} 3<&8 4>&9 8<&- 9>&-; exec "$0" "$@"', find(), "--headless=new", "--no-sandbox",
             "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={self.folder}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=keep, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in keep:
            os.close(fd)
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network"):
            self.call(part + ".enable")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.source)
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.rest:
            if not select.select([self.source], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self.source, 1 << 16)
            if not chunk:
                raise EOFError("the browser has ended")
            self.rest += chunk
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1200, height=900, dark=False):
        """Shows a file; returns what went wrong on the way: errors of its script, and what it fetched from elsewhere."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + 60
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.receive(deadline))
        wrong = [e["params"]["exceptionDetails"].get("exception", {}).get("description", "?") for e in self.events
                 if e.get("method") == "Runtime.exceptionThrown"]
        wrong += ["fetches " + url for e in self.events if e.get("method") == "Network.requestWillBeSent"
                  and not (url := e["params"]["request"]["url"]).startswith(("file:", "data:"))]
        return wrong

    def run(self, expression):
        """The value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def press(self, key, text=""):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        common = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text or (key if len(key) == 1 else ""), **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def picture(self, path, top=0, height=None):
        """Of the page from `top` on, as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": height or size["height"] - top, "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def print(self, path):
        """As a PDF."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=False)["data"]))
