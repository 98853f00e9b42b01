#!/usr/bin/python
# Apache-2.0, see the file LICENSE of Fulcrum.
"""Reads from the API of Fulcrum."""

DOCUMENTATION = r"""
module: fulcrum_info
short_description: Read from the API of Fulcrum
version_added: 0.1.0
description:
  - Reads any path of the API with GET, or the configuration as a document.
  - Some paths return secrets to users who may see them; use C(no_log) for such a task.
author: Fulcrum (@fulcrum)
options:
  path:
    description: Path below C(/api/v1). Defaults to the configuration as a document.
    type: str
    default: /config/document
  query:
    description: Query parameters, for example C(owner) or C(name).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: Reads in check mode as well.
extends_documentation_fragment: fulcrum.fulcrum.api
"""

EXAMPLES = r"""
- name: The configuration of one owner
  fulcrum.fulcrum.fulcrum_info:
    query: { owner: shop }
  register: shop

- name: One real server by its name
  fulcrum.fulcrum.fulcrum_info:
    path: /ipvsDirector/rips
    query: { name: web1 }
  register: web1
"""

RETURN = r"""
data:
  description: C(data) of the answer, or the whole answer if it has none.
  returned: success
  type: raw
next:
  description: Continuation of a list (C(after) of the next query), if there are more records than its C(limit).
  returned: success
  type: str
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.fulcrum.fulcrum.plugins.module_utils.fulcrum_api import Failure, arguments, run


def main():
    spec = arguments(path=dict(type="str", default="/config/document"), query=dict(type="dict", default={}))
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)

    def work(api):
        path = module.params["path"]
        if not path.startswith("/") or "?" in path:
            raise Failure("path: has to begin with /, without query parameters, which belong in query; not %s" % path)
        answer = api.ask("GET", path, query=module.params["query"])
        return dict(changed=False, data=answer.data, next=answer.next)

    run(module, work)


if __name__ == "__main__":
    main()
