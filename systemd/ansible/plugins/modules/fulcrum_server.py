#!/usr/bin/python
# Apache-2.0, see the file LICENSE of Fulcrum.
"""Drains or halts a real server behind Fulcrum, brings it back or changes its weight."""

DOCUMENTATION = r"""
module: fulcrum_server
short_description: Drain, halt or bring online a real server, or set its weight
version_added: 0.1.0
description:
  - Changes the state or the weight of one real server and applies only that, on every node. Other pending changes
    stay pending; a real server with another pending change is refused.
author: Fulcrum (@fulcrum)
options:
  name:
    description: Name of the real server.
    type: str
    required: true
  state:
    description:
      - C(online) receives traffic.
      - C(drained) keeps its connections and gets no new clients.
      - C(halted) is out of all backends.
    type: str
    choices: [online, drained, halted]
  weight:
    description: Weight, 0 to 256.
    type: int
  wait:
    description:
      - How long to wait for the connections to end, for example C(90s) or C(5m).
      - With C(state=drained) the task fails if some are left after that time, and the real server stays drained.
      - With C(state=halted) it is drained first, and halted once they have ended or the time is up.
      - A wait still in progress, for example of an interrupted run, is waited for first, for up to I(busy_timeout).
    type: str
  comment:
    description: Comment stored with the revision.
    type: str
attributes:
  check_mode:
    support: full
    description: Only reads.
  diff_mode:
    support: full
    description: State and weight before and after.
extends_documentation_fragment: fulcrum.fulcrum.api
"""

EXAMPLES = r"""
- name: No new clients, and the connections have ended
  fulcrum.fulcrum.fulcrum_server:
    name: web1
    state: drained
    wait: 5m

- name: Traffic again, at half the weight
  fulcrum.fulcrum.fulcrum_server:
    name: web1
    state: online
    weight: 50
"""

RETURN = r"""
id:
  description: Id of the real server.
  returned: success
  type: str
connections:
  description: Connections that were left when the wait ended; null if unknown.
  returned: with wait
  type: int
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

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fulcrum.fulcrum.plugins.module_utils.fulcrum_api import (
    Failure,
    arguments,
    in_path,
    run,
)

VERBS = {"online": "online", "drained": "drain", "halted": "halt"}
LOOK_EVERY_S = 0.5


def main():
    spec = arguments(
        name=dict(type="str", required=True),
        state=dict(type="str", choices=["online", "drained", "halted"]),
        weight=dict(type="int"),
        wait=dict(type="str"),
        comment=dict(type="str"),
    )
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True, required_one_of=[("state", "weight")])
    if module.params["wait"] is not None and module.params["state"] not in ("drained", "halted"):
        module.fail_json(msg="wait: needs state drained or halted")
    run(module, lambda api: _Server(module, api).settle())


class _Server:
    """One real server, and the state and weight that the task asks for."""

    def __init__(self, module, api):
        self._module = module
        self._api = api
        self._params = module.params
        found = api.get("/ipvsDirector/rips", dict(name=self._params["name"]))
        if not found:
            raise Failure("name: there is no real server %s" % self._params["name"])
        if len(found) > 1:
            ids = ", ".join(record["id"] for record in found)
            message = "name: several real servers are named %s (%s): rename all but one with PUT /ipvsDirector/rips/ID"
            raise Failure(message % (self._params["name"], ids))
        self._found = found[0]
        self._id = self._found["id"]
        self._path = "/ipvsDirector/rips/%s" % in_path(self._id)
        wanted = dict(state=self._params["state"], weight=self._params["weight"])
        self._wanted = {field: value for field, value in wanted.items() if value is not None}
        # With a wait, the server is drained first; the job halts it.
        self._staged = dict(self._wanted, state="drained") if self._params["wait"] is not None else self._wanted

    def settle(self):
        pending = self._pending()
        differing = {field: value for field, value in self._wanted.items() if self._found[field] != value}
        # A pending change that contains only the wanted values is applied as well.
        result = dict(changed=bool(differing or pending), id=self._id)
        if self._module._diff:
            running = dict(self._found, **(pending["before"] if pending else {}))
            result["diff"] = dict(before={field: running[field] for field in self._wanted}, after=self._wanted)
        if self._module.check_mode:
            return result
        is_out = self._params["state"] == self._found["state"] == "halted"
        try:
            if pending is not None:
                # The job of an interrupted run may be waiting for this change.
                self._apply_own()
                pending = None
            job = self._stage(differing, self._params["wait"] is not None and not is_out)
            self._apply_own()
        except Failure:
            if pending is None:
                self._discard_own()
            raise
        return result if job is None else dict(result, connections=self._followed(job))

    def _pending(self):
        """Returns the pending change of this real server, or None. Fails if the change contains anything else."""
        changes = self._api.get("/services/pending")["changes"]
        place = ("realServers", self._id)
        pending = next((change for change in changes if (change["resource"], change["resourceId"]) == place), None)
        if pending is None:
            return None
        own = self._staged
        after = pending["after"] if pending["op"] == "update" else {"its creation": True}
        others = {field for field, value in after.items() if field not in own or own[field] != value}
        if not others:
            return pending
        told = (self._params["name"], ", ".join(sorted(others)), pending["by"])
        raise Failure("name: another change of %s is pending (%s, by %s): apply or discard it first" % told)

    def _stage(self, differing, is_waited_for):
        """Returns the id of the job that waits until the connections have ended, or None."""
        if "weight" in differing:
            # Every change must contain the port.
            body = dict(port=self._found["port"], weight=differing["weight"])
            self._api.ask("PUT", self._path, body=body)
        if is_waited_for:
            query = dict(wait=self._params["wait"], then="halt" if self._params["state"] == "halted" else None)
            return self._api.ask("PUT", "%s/drain" % self._path, query=query).job
        if "state" in differing:
            self._api.ask("PUT", "%s/%s" % (self._path, VERBS[differing["state"]]))
        return None

    def _apply_own(self):
        change = self._pending()
        if change is None:
            return
        body = dict(changes=[change["id"]])
        if self._params["comment"] is not None:
            body["comment"] = self._params["comment"]
        self._api.ask("PUT", "/services/apply", body=body)

    def _discard_own(self):
        """Discards a change that could not be applied, so that nobody else's apply makes it live."""
        try:
            change = self._pending()
            if change is not None:
                self._api.ask("DELETE", "/services/pending/%s" % in_path(change["id"]))
        except Failure as failure:
            self._module.warn("It is still pending: %s" % failure)

    def _followed(self, job):
        while True:
            found = self._api.get("/jobs/%s" % in_path(job))
            if found["problem"] is not None:
                raise Failure(found["problem"]["message"])
            if found["state"] == "succeeded":
                return found["result"]["connections"]
            if found["state"] != "running":
                raise Failure("%s: the job was %s" % (found["title"], found["state"]))
            time.sleep(LOOK_EVERY_S)


if __name__ == "__main__":
    main()
