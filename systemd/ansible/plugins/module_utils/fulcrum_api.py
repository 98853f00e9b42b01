# Apache-2.0, see the file LICENSE of Fulcrum.
"""A client of the API of Fulcrum that only needs the standard library of Python."""

import hashlib
import http.client
import json
import re
import ssl
import time
from urllib.parse import quote, urlencode, urlsplit

from ansible.module_utils.basic import env_fallback

PREFIX = "/api/v1"


def arguments(**own):
    """Returns the arguments that all modules share, and those of this one."""
    return dict(
        url=dict(type="str", required=True, fallback=(env_fallback, ["FULCRUM_URL"])),
        token=dict(type="str", required=True, no_log=True, fallback=(env_fallback, ["FULCRUM_TOKEN"])),
        fingerprint=dict(type="str", fallback=(env_fallback, ["FULCRUM_FINGERPRINT"])),
        ca_file=dict(type="path"),
        timeout=dict(type="int", default=120),
        busy_timeout=dict(type="int", default=60),
        **own
    )


def run(module, work):
    """Ends the module with the result of `work`, or with the reason why it failed."""
    try:
        module.exit_json(**work(Api(module.params)))
    except Failure as failure:
        module.fail_json(**failure.told())


class Failure(Exception):
    """A failure that is reported to the author of the task."""

    def told(self):
        return dict(msg=str(self))


class Refused(Failure):
    """The API refused."""

    def __init__(self, status, refusal):
        self.status = status
        self.code = refusal["code"]
        self.errors = refusal.get("errors") or []
        self.data = refusal.get("data")
        super().__init__(_sentence(refusal.get("message", ""), self.code, self.errors))

    def told(self):
        return dict(msg=str(self), status=self.status, code=self.code, errors=self.errors, data=self.data)


def _sentence(message, code, errors):
    """Returns the message; two or more fields are on separate lines."""
    if len(errors) < 2:
        return "%s (%s)" % (message, code)
    lines = ["%s: %s" % (error["field"], error["message"]) for error in errors]
    return "\n  ".join(["%s (%s)" % (message.split(": ")[0], code)] + lines)


class Answer:
    """An answer of the API: the whole JSON, or the text if it is not JSON."""

    def __init__(self, text):
        try:
            self.json = json.loads(text)
        except ValueError:
            self.json = None
        envelope = self.json if isinstance(self.json, dict) else {}
        self.message = envelope.get("message", "")
        self.job = envelope.get("job")
        self.next = envelope.get("next")
        # A few answers have no envelope.
        self.data = envelope["data"] if "data" in envelope else self.json if self.json is not None else text


class Api:
    """One daemon over HTTPS. Each request has a connection of its own."""

    def __init__(self, params):
        parts = urlsplit(params["url"])
        if parts.scheme != "https" or not parts.hostname or parts.path not in ("", "/"):
            raise Failure("url: has to be the URL of the API, for example https://lb1:9443; not %s" % params["url"])
        self._url = params["url"]
        self._host = parts.hostname
        self._port = parts.port or 443
        self._token = params["token"]
        self._timeout = params["timeout"]
        self._busy_timeout = params["busy_timeout"]
        self._fingerprint = _fingerprint(params["fingerprint"])
        self._context = _context(self._fingerprint, params["ca_file"])

    def get(self, path, query=None):
        return self.ask("GET", path, query=query).data

    def ask(self, method, path, query=None, body=None):
        """Repeats the request while the daemon is busy: a request refused for that reason has changed nothing."""
        waited = 0
        while True:
            status, headers, text = self._send(method, path, query, body)
            answer = Answer(text)
            if status < 300:
                return answer
            if not isinstance(answer.json, dict) or "code" not in answer.json:
                raise Failure("%s answers %d and is not Fulcrum" % (self._url, status))
            refused = Refused(status, answer.json)
            wait = int(headers.get("Retry-After") or 0)
            # A 503 may have Retry-After as well, but does not mean that the daemon is busy.
            is_busy = status in (409, 429)
            if not is_busy or wait == 0 or waited + wait > self._busy_timeout:
                raise refused
            time.sleep(wait)
            waited += wait

    def _send(self, method, path, query, body):
        connection = _Connection(self._host, self._port, self._timeout, self._context, self._fingerprint)
        headers = {"Accept": "application/json", "Authorization": "Bearer %s" % self._token}
        if body is not None:
            headers["Content-Type"] = "application/json"
        asked = {name: _in_query(value) for name, value in (query or {}).items() if value is not None}
        target = PREFIX + path + ("?" + urlencode(asked) if asked else "")
        try:
            connection.connect()
        except ssl.SSLError as error:
            raise Failure(self._untrusted(error))
        except OSError as error:
            raise Failure("%s cannot be reached: %s" % (self._url, error))
        try:
            connection.request(method, target, None if body is None else json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            lost = "%s did not answer %s %s: %s" % (self._url, method, path, error or type(error).__name__)
            raise Failure(lost if method == "GET" else lost + "; the request may have been carried out")
        finally:
            connection.close()

    def _untrusted(self, error):
        reason = getattr(error, "verify_message", None) or str(error)
        return "the certificate of %s is not trusted (%s): set fingerprint or ca_file" % (self._url, reason)


class _Connection(http.client.HTTPSConnection):
    """Checks the certificate before the first byte of a request is sent."""

    def __init__(self, host, port, timeout, context, fingerprint):
        super().__init__(host, port, timeout=timeout, context=context)
        self._fingerprint = fingerprint

    def connect(self):
        super().connect()
        if self._fingerprint is None:
            return
        shown = hashlib.sha256(self.sock.getpeercert(True)).hexdigest()
        if shown == self._fingerprint:
            return
        self.close()
        message = "the certificate of %s:%d does not match fingerprint, so nothing was sent: its SHA-256 is %s"
        raise Failure(message % (self.host, self.port, shown))


def _fingerprint(text):
    if not text:
        return None
    digits = text.replace(":", "").lower()
    if not re.match(r"^[0-9a-f]{64}$", digits):
        raise Failure("fingerprint: has to be a SHA-256, 64 hexadecimal digits with or without colons")
    return digits


def _context(fingerprint, ca_file):
    if fingerprint is None:
        try:
            return ssl.create_default_context(cafile=ca_file)
        except (OSError, ssl.SSLError) as error:
            raise Failure("ca_file: %s cannot be read: %s" % (ca_file, error))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The fingerprint proves more than a name and an authority.
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if ca_file is not None:
        raise Failure("ca_file: excludes fingerprint, with which only that certificate is accepted: set one of them")
    return context


def _in_query(value):
    return str(value).lower() if isinstance(value, bool) else value


def in_path(text):
    """One part of a path."""
    return quote(text, safe="")
