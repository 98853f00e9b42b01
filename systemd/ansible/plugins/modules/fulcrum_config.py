#!/usr/bin/python
# Apache-2.0, see the file LICENSE of Fulcrum.
"""Makes the configuration of Fulcrum match a document."""

DOCUMENTATION = r"""
module: fulcrum_config
short_description: Apply a configuration document to Fulcrum
version_added: 0.1.0
description:
  - Plans the changes of a document and applies exactly these on every node. Nothing is applied if nothing would change.
  - In check mode it only plans, with all checks of an apply, including HAProxy's own.
  - In diff mode it shows each changed record and the diff of the generated files.
  - Records that are not in the document stay, unless I(prune) is set.
author: Fulcrum (@fulcrum)
options:
  state:
    description:
      - C(applied) applies the document.
      - C(confirmed) keeps an apply that waits for confirmation; C(reverted) reverts it immediately. If none is
        waiting, both change nothing.
    type: str
    choices: [applied, confirmed, reverted]
    default: applied
  document:
    description:
      - The document. It is not logged because it may contain keys of certificates.
      - A template turns numbers into strings, which the API refuses with the name of the field; read a YAML file as
        in the example.
    type: dict
  file:
    description: The document as a JSON file on the machine that runs the module.
    type: path
  owner:
    description: Owner of the records in the document, if the document does not name one.
    type: str
  prune:
    description: Deletes records of the document's owner that are not in the document.
    type: bool
    default: false
  take_over:
    description: Also changes records of other owners or without an owner; otherwise they are refused.
    type: bool
    default: false
  refuse_warnings:
    description: Fails without changing anything if there are warnings. Otherwise the task shows them.
    type: bool
    default: false
  comment:
    description: Comment stored with the revision.
    type: str
  confirm_within:
    description: Seconds, 5 to 86400. The daemon reverts the apply unless it is confirmed within this time.
    type: int
  confirm:
    description:
      - With I(confirm_within), whether the task confirms the apply itself, on a new connection.
      - With C(false), other tasks can check the result before a task with C(state=confirmed).
    type: bool
    default: true
  revision:
    description:
      - With C(state=confirmed) and C(state=reverted), the revision to act on, as returned by the task that applied
        it. Without it, the task acts on any apply that waits for confirmation, by any user.
      - If another revision is running, for example after a revert, C(confirmed) fails, and C(reverted) changes
        nothing.
    type: int
attributes:
  check_mode:
    support: full
    description: Only plans.
  diff_mode:
    support: full
    description: Records before and after, and the diff of the generated files.
extends_documentation_fragment: fulcrum.fulcrum.api
"""

EXAMPLES = r"""
- name: The configuration is what the repository says
  fulcrum.fulcrum.fulcrum_config:
    document: "{{ lookup('file', 'lb.yaml') | from_yaml }}"
    owner: shop
    prune: true
    comment: "{{ lookup('pipe', 'git rev-parse HEAD') }}"

- name: Apply, and revert unless the site answers
  block:
    - fulcrum.fulcrum.fulcrum_config:
        document: "{{ lookup('file', 'lb.yaml') | from_yaml }}"
        confirm_within: 120
        confirm: false
      register: applied
    - ansible.builtin.uri:
        url: https://www.example.com/
    - fulcrum.fulcrum.fulcrum_config:
        state: confirmed
        revision: "{{ applied.revision }}"
      when: applied.confirm_by is defined
  rescue:
    - fulcrum.fulcrum.fulcrum_config:
        state: reverted
        revision: "{{ applied.revision }}"
      when: applied.confirm_by is defined
    - ansible.builtin.fail:
        msg: The site did not answer with the new configuration.
"""

RETURN = r"""
changes:
  description: Changes, each with C(op), C(resource), C(name), C(before), C(after) and C(effect). No secrets.
  returned: with state=applied
  type: list
  elements: dict
plan_warnings:
  description: Warnings, each with C(code), C(message) and the record.
  returned: with state=applied
  type: list
  elements: dict
digest:
  description: SHA-256 of the changes; equal for plans with the same changes.
  returned: with state=applied
  type: str
revision:
  description: The running revision.
  returned: success
  type: int
confirm_by:
  description: ISO 8601; when the apply is reverted unless it is confirmed.
  returned: with confirm=false, when the task applied something and it waits for its confirmation
  type: str
code:
  description: Error code of the API.
  returned: when it refused
  type: str
errors:
  description: Invalid fields, each with C(field), C(code) and C(message).
  returned: when it refused
  type: list
  elements: dict
"""

import json

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fulcrum.fulcrum.plugins.module_utils.fulcrum_api import Failure, Refused, arguments, run

# Another caller may apply something between a plan and its apply.
TRIES_MAX = 5
SECRETS = ("pem", "pfx", "password", "privateKey")


def main():
    spec = arguments(
        state=dict(type="str", choices=["applied", "confirmed", "reverted"], default="applied"),
        document=dict(type="dict", no_log=True),
        file=dict(type="path"),
        owner=dict(type="str"),
        prune=dict(type="bool", default=False),
        take_over=dict(type="bool", default=False),
        refuse_warnings=dict(type="bool", default=False),
        comment=dict(type="str"),
        confirm_within=dict(type="int"),
        confirm=dict(type="bool", default=True),
        revision=dict(type="int"),
    )
    module = AnsibleModule(
        argument_spec=spec,
        supports_check_mode=True,
        mutually_exclusive=[("document", "file")],
        required_if=[("state", "applied", ("document", "file"), True)],
    )
    document = module.params["document"]
    _mask(module, document)
    if module.params["state"] == "applied":
        run(module, lambda api: _apply(module, api, _read(module.params, document)))
    else:
        run(module, lambda api: _decide(module, api))


def _mask(module, document):
    """
    Ansible would mask every value of the document wherever it occurs, including names of records in messages. So the
    document is removed from the reported parameters, and only its secrets are masked.
    """
    module.no_log_values = {module.params["token"]} | _secrets_of(document)
    if document is not None:
        module.params["document"] = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER"


def _secrets_of(document):
    certificates = (document or {}).get("certificates")
    records = certificates.values() if isinstance(certificates, dict) else []
    fields = [record.get(name) for record in records if isinstance(record, dict) for name in SECRETS]
    return {field for field in fields if isinstance(field, str) and field}


def _read(params, document):
    if document is None:
        document = _of_file(params["file"])
    owner = params["owner"]
    if owner is None:
        return document
    if document.get("owner", owner) != owner:
        raise Failure("owner: the document says %s, but the task says %s" % (document["owner"], owner))
    return dict(document, owner=owner)


def _of_file(path):
    try:
        with open(path, encoding="utf-8") as opened:
            document = json.load(opened)
    except OSError as error:
        raise Failure("file: %s" % error)
    except ValueError as error:
        hint = "for YAML, use document: \"{{ lookup('file', 'lb.yaml') | from_yaml }}\""
        raise Failure("file: %s is not JSON: %s; %s" % (path, error, hint))
    if not isinstance(document, dict):
        raise Failure("file: %s does not contain a document" % path)
    return document


def _apply(module, api, document):
    params = module.params
    asked = dict(document=document, prune=params["prune"], takeOver=params["take_over"])
    for tries_left in reversed(range(TRIES_MAX)):
        plan = api.ask("POST", "/config/plan", body=asked).data
        result = _result(module, plan)
        if plan["warnings"] and params["refuse_warnings"]:
            raise Refused(409, _warned(plan["warnings"]))
        if module.check_mode or not plan["changes"]:
            _tell(module, plan["warnings"])
            if not plan["changes"]:
                _tell_waiting(module, api)
            return result
        try:
            return dict(result, **_make_running(module, api, plan))
        except Refused as refused:
            if refused.code != "REVISION_MISMATCH" or tries_left == 0:
                raise


def _result(module, plan):
    result = dict(
        changed=len(plan["changes"]) > 0,
        changes=plan["changes"],
        plan_warnings=plan["warnings"],
        digest=plan["digest"],
        revision=plan["baseRevision"],
    )
    if module._diff:
        result["diff"] = [_diff(change) for change in plan["changes"]]
        result["diff"] += [dict(prepared=file["diff"]) for file in plan["files"]]
    return result


def _diff(change):
    title = "%s %s" % (change["resource"], change["name"])
    return dict(before_header=title, after_header=title, before=change["before"] or "", after=change["after"] or "")


def _warned(warnings):
    """Returns the refusal with which an apply would answer."""
    told = "; ".join(warning["message"] for warning in warnings)
    return dict(code="WARNINGS", message="Nothing was applied: %s" % told, data=dict(warnings=warnings))


def _tell(module, warnings):
    for warning in warnings:
        module.warn("%s %s" % (warning["code"], warning["message"]))


def _make_running(module, api, plan):
    params = module.params
    terms = dict(comment=params["comment"], confirmWithin=params["confirm_within"])
    body = {name: value for name, value in terms.items() if value is not None}
    body["refuseWarnings"] = params["refuse_warnings"]
    answer = api.ask("PUT", "/config/plans/%s/apply" % plan["planId"], body=body)
    applied = answer.data
    _tell(module, applied["warnings"])
    made = dict(revision=applied["revision"], msg=answer.message)
    if applied["confirmBy"] is None:
        return made
    if not params["confirm"]:
        return dict(made, confirm_by=applied["confirmBy"])
    try:
        api.ask("PUT", "/services/apply/confirm")
    except Failure as failure:
        where = (applied["revision"], applied["confirmBy"])
        raise Failure("Revision %d was applied but not confirmed, and is reverted at %s:  " % where + str(failure))
    return made


def _tell_waiting(module, api):
    """Warns if the running revision may still be reverted, for example after a play that ended before confirming it."""
    try:
        found = api.get("/services/apply")
    except Refused as refused:
        # A token that may apply need not have the right to this request.
        if refused.code != "PERMISSION_DENIED":
            raise
        return
    if found["state"] == "waiting":
        told = "The running revision %d by %s is reverted at %s unless it is confirmed"
        module.warn(told % (found["revision"], found["by"], found["confirmBy"]))


def _decide(module, api):
    """Confirms or reverts an apply that waits for its confirmation."""
    is_kept = module.params["state"] == "confirmed"
    found = api.get("/services/apply")
    wanted = module.params["revision"]
    is_meant = wanted is None or found["revision"] == wanted
    if is_kept and not is_meant:
        message = "revision: %d is running instead of %d, which was reverted or followed by another apply"
        raise Failure(message % (found["revision"], wanted))
    is_waiting = is_meant and found["state"] == "waiting"
    if not is_waiting or module.check_mode:
        return dict(changed=is_waiting, revision=found["revision"])
    answer = api.ask("PUT", "/services/apply/%s" % ("confirm" if is_kept else "revert"))
    return dict(changed=True, revision=answer.data["revision"], msg=answer.message)


if __name__ == "__main__":
    main()
