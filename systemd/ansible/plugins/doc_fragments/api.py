# Apache-2.0, see the file LICENSE of Fulcrum.
"""The options of every module for reaching the API."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  url:
    description:
      - Where the API is, such as C(https://lb1:9443).
      - Without it, the variable C(FULCRUM_URL) of the machine that the module runs on.
    type: str
    required: true
  token:
    description:
      - API token, see C(POST /localUsers/me/tokens).
      - Without it, the variable C(FULCRUM_TOKEN).
    type: str
    required: true
  fingerprint:
    description:
      - SHA-256 of the only certificate that is accepted, hexadecimal, with or without colons.
      - It is compared before anything is sent. Without it, the variable C(FULCRUM_FINGERPRINT).
      - Without it and without I(ca_file), an authority that the machine trusts has to vouch for the certificate.
    type: str
  ca_file:
    description: PEM of the authorities that may vouch for the certificate, in place of those of the machine.
    type: path
  timeout:
    description: Seconds without an answer after which a request has failed.
    type: int
    default: 120
  busy_timeout:
    description:
      - Seconds for which a request is repeated that was refused because the daemon is busy (C(429),
        C(APPLY_IN_PROGRESS), C(JOB_IN_PROGRESS)), as often as the answer asks for.
    type: int
    default: 60
requirements:
  - Python 3.7 on the machine that the module runs on, most often the controller (C(delegate_to)); nothing else
"""
