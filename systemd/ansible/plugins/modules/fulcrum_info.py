#!/usr/bin/python
# Apache-2.0, see the file LICENSE of Fulcrum.
"""Reads from the API of Fulcrum."""

DOCUMENTATION = r"""
module: fulcrum_info
short_description: Read from Fulcrum
version_added: 0.1.0
description:
  - Reads what any path of the API answers to a GET, or the configuration as a document.
  - Some paths answer secrets to those who may see them; such a task wants C(no_log).
author: Fulcrum (@fulcrum)
options:
  path:
    description: Path behind C(/api/v1), such as C(/layer7proxy/frontends). By default the configuration as a document.
    type: str
    default: /config/document
  query:
    description: Parameters of the query, such as C(owner) or C(name).
    type: dict
    default: {}
attributes:
  check_mode:
    support: full
    description: It reads in check mode as well.
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
  description: C(data) of the answer, or the whole answer where it has none.
  returned: success
  type: raw
next:
  description: Where a list goes on (C(after) of the next query), when the query had a C(limit) and there is more.
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
            raise Failure("path: say one that begins with /, and what follows a question mark in query; not %s" % path)
        answer = api.ask("GET", path, query=module.params["query"])
        return dict(changed=False, data=answer.data, next=answer.next)

    run(module, work)


if __name__ == "__main__":
    main()
