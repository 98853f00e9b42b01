# Apache-2.0, see the file LICENSE of Fulcrum.
"""The options of every module for reaching the API."""


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  url:
    description:
      - URL of the API, for example C(https://lb1:9443).
      - Defaults to the variable C(FULCRUM_URL) on the machine that runs the module.
    type: str
    required: true
  token:
    description:
      - API token, see C(POST /localUsers/me/tokens).
      - Defaults to the variable C(FULCRUM_TOKEN).
    type: str
    required: true
  fingerprint:
    description:
      - SHA-256 of the only accepted certificate, hexadecimal, with or without colons.
      - It is compared before anything is sent. Defaults to the variable C(FULCRUM_FINGERPRINT).
      - Without it and without I(ca_file), the certificate must be signed by an authority that the machine trusts.
    type: str
  ca_file:
    description: PEM of the authorities that may have signed the certificate, instead of those of the machine.
    type: path
  timeout:
    description: Seconds without an answer after which a request fails.
    type: int
    default: 120
  busy_timeout:
    description:
      - Seconds for which a request is repeated that was refused because the daemon is busy (C(429),
        C(APPLY_IN_PROGRESS), C(JOB_IN_PROGRESS)), at the intervals given by the answer.
    type: int
    default: 60
requirements:
  - Python 3.7 on the machine that the module runs on, most often the controller (C(delegate_to)); nothing else
"""
