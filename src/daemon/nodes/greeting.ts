import { VERSION } from '../../base/version.ts'
import type { DemoPorts } from '../../settings.ts'
import { apiUrl, type NodePlace } from './places.ts'

export interface Greeting {
  readonly nodes: readonly { readonly place: NodePlace; readonly pid: number }[]
  /** Undefined when it was told by an earlier start. */
  readonly administrator: { readonly email: string; readonly password: string | undefined } | undefined
  readonly demo: DemoPorts | undefined
  /** Of the process that has started them. */
  readonly pid: number
}

const label = (text: string) => `  ${text.padEnd(15)}`

export const titleLine = (nodes: number, state: string): string =>
  `Fulcrum ${VERSION}, trial profile, a cluster of ${nodes} nodes on this machine, state in ${state}`

/** What somebody needs to know who has just started a cluster. */
export function greetingLines({ nodes, administrator, demo, pid }: Greeting): readonly string[] {
  const [first] = nodes
  if (first === undefined) return []
  const url = `${apiUrl(first.place)}/api/v1`
  const served = nodes.map(({ place }) => `http://${place.listen.host}:${demo?.frontend}/`).join(' ')
  return [
    ...nodes.map((node) => `${label(`Node ${node.place.number}`)}${apiUrl(node.place)}/api/v1   (process ${node.pid})`),
    `${label('Documentation')}${url}/docs`,
    ...(administrator === undefined ? [] : loginLines(administrator)),
    ...(demo === undefined
      ? []
      : [`${label('Demo')}${served}`, `${label('')}(remove it: DELETE /api/v1/demo on node 1)`]),
    `${label('Logs')}${first.place.state.replace(/1$/, 'N')}/daemon.log`,
    '',
    ...nextSteps({ nodes, administrator, demo, pid }),
  ]
}

function loginLines({ email, password }: NonNullable<Greeting['administrator']>): readonly string[] {
  const shown = password === undefined ? 'the one in FULCRUM_ADMIN_PASSWORD' : `${password}   (shown this once)`
  return [`${label('Administrator')}${email}`, `${label('Password')}${shown}`]
}

/** One login counts on all nodes. */
function nextSteps({ nodes, administrator, pid }: Greeting): readonly string[] {
  const [first, second] = nodes
  if (first === undefined || second === undefined) return []
  const login = JSON.stringify({
    email: administrator?.email ?? 'admin@localhost',
    password: administrator?.password ?? 'YOURS',
  })
  const json = `-H 'Content-Type: application/json'`
  const token = `TOKEN=$(curl -sk ${apiUrl(first.place)}/api/v1/token ${json} -d '${login}' | grep -oP '"token":"\\K[^"]+')`
  return [
    '  To try in another terminal:',
    `    ${token}`,
    `    curl -sk -H "Authorization: Bearer $TOKEN" ${apiUrl(second.place)}/api/v1/cluster   # one login counts on every node`,
    `    kill ${second.pid}            # node 2 ends, with its HAProxy and etcd; the others go on. Ask node 1 or 3`,
    `    kill -USR2 ${pid}      # it starts again, and catches up`,
    '  Ctrl-C ends all of them.',
  ]
}
