"""Takes pictures of pages of a project, as an account that has signed in sees them.

page_pictures.py URL EMAIL PASSWORD FOLDER PATH...: each page 1200 and 390 CSS pixels wide, as
FOLDER/NAME-WIDTH.png. It fails if a page is wider than its window.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
import time


class Chromium:
    """One tab, driven through the pipes of --remote-debugging-pipe."""

    def __init__(self, profile):
        theirs, self.write = os.pipe()
        self.read, ours = os.pipe()
        command = ("exec chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars "
                   "--no-first-run --disable-dev-shm-usage --disable-background-networking "
                   f"--disable-component-update --disable-extensions --user-data-dir={profile} "
                   f"--remote-debugging-pipe about:blank 3<&{theirs} 4>&{ours}")
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(theirs, ours),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(ours)
        self.last, self.session, self.received = 0, None, b""
        tab = next(each["targetId"] for each in self.call("Target.getTargets")["targetInfos"]
                   if each["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.received:
                part = os.read(self.read, 1 << 16)
                if not part:
                    sys.exit("page_pictures: the browser has ended")
                self.received += part
            text, self.received = self.received.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.last:
                if "error" in answer:
                    sys.exit(f"page_pictures: {method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, expression):
        return self.call("Runtime.evaluate", expression=expression,
                         returnByValue=True)["result"].get("value")

    def open(self, url, width):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Page.navigate", url=url)
        self.wait()

    def wait(self):
        """Until the page has loaded, and a while for its curves."""
        time.sleep(1)
        for _ in range(300):
            if self.evaluate("document.readyState") == "complete":
                break
            time.sleep(0.2)
        time.sleep(4)

    def picture(self, file):
        """The whole page."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                               "scale": 1})["data"]
        with open(file, "wb") as out:
            out.write(base64.b64decode(data))


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    url, email, password, folder, *paths = sys.argv[1:]
    url = url.rstrip("/")
    is_wide = False
    with tempfile.TemporaryDirectory() as profile:
        browser = Chromium(profile)
        browser.open(f"{url}/account/sign_in", 1200)
        browser.evaluate(f"email.value = {json.dumps(email)}; password.value = "
                         f"{json.dumps(password)}; email.form.submit()")
        browser.wait()
        for path in paths:
            for width in (1200, 390):
                browser.open(f"{url}/{path}", width)
                file = os.path.join(folder, f"{path.replace('/', '-')}-{width}.png")
                browser.picture(file)
                page = browser.evaluate("document.documentElement.scrollWidth")
                is_wide = is_wide or page > width
                print(f"{file}: {browser.evaluate('document.title')}, the page is {page} wide")
        browser.process.terminate()
        browser.process.wait()
    if is_wide:
        sys.exit("page_pictures: a page is wider than its window")


main()
