import { VERSION } from '../../base/version.ts'
import type { DemoPorts } from '../../settings.ts'
import { apiUrl, type NodePlace } from './places.ts'

export interface Greeting {
  /** A node without a process is not running. */
  readonly nodes: readonly { readonly place: NodePlace; readonly pid: number | undefined }[]
  /** E-mail of the administrator of the first start. */
  readonly email: string
  /** The password that this start generated; it is shown nowhere else. */
  readonly password: string | undefined
  /** At later starts the administrator is already known. */
  readonly isFirst: boolean
  readonly demo: DemoPorts | undefined
  /** The process that started the nodes. */
  readonly pid: number
}

const label = (text: string) => `  ${text.padEnd(15)}`

export const titleLine = (nodes: number, state: string): string =>
  `Fulcrum ${VERSION}, trial profile, a cluster of ${nodes} nodes on this machine, state in ${state}`

/** Returns the information for a user who has just started a cluster. */
export function greetingLines(greeting: Greeting): readonly string[] {
  const { nodes, demo, isFirst } = greeting
  const [first] = nodes
  if (first === undefined) return []
  const served = nodes.map(({ place }) => `http://${place.listen.host}:${demo?.frontend}/`).join(' ')
  const removed = `${label('')}(remove it: DELETE /api/v1/demo on node 1)`
  return [
    '',
    ...nodes.map(nodeLine),
    `${label('Admin page')}${apiUrl(first.place)}/`,
    `${label('Documentation')}${apiUrl(first.place)}/api/v1/docs`,
    ...(isFirst ? loginLines(greeting) : []),
    ...(demo === undefined ? [] : [`${label('Demo')}${served}`, removed]),
    `${label('Logs')}${first.place.state.replace(/1$/, 'N')}/daemon.log`,
    '',
    ...nextSteps(greeting),
  ]
}

function nodeLine({ place, pid }: Greeting['nodes'][number]): string {
  const state = pid === undefined ? 'does not run' : `process ${pid}`
  return `${label(`Node ${place.number}`)}${apiUrl(place)}/api/v1   (${state})`
}

function loginLines({ email, password }: Greeting): readonly string[] {
  const shown = password === undefined ? 'the one in FULCRUM_ADMIN_PASSWORD' : `${password}   (shown only once)`
  return [`${label('Administrator')}${email}`, `${label('Password')}${shown}`]
}

function nextSteps({ nodes, email, password = 'YOURS', pid }: Greeting): readonly string[] {
  const [asked, other] = nodes.filter((node) => node.pid !== undefined)
  if (asked === undefined || other === undefined) return []
  const { number } = other.place
  const sent = `-H 'Content-Type: application/json' -d '${JSON.stringify({ email, password })}'`
  const answered = `grep -oP '"token":"\\K[^"]+'`
  const bearer = '-H "Authorization: Bearer $TOKEN"'
  return [
    '  To try in another terminal: one login is valid on every node; with a node, its HAProxy and etcd stop too.',
    `    TOKEN=$(curl -sk ${apiUrl(asked.place)}/api/v1/token ${sent} | ${answered})`,
    `    curl -sk ${bearer} ${apiUrl(asked.place)}/api/v1/cluster`,
    `    kill ${other.pid}; sleep 5; curl -sk ${bearer} ${apiUrl(asked.place)}/api/v1/cluster   # node ${number} is unreachable`,
    `    kill -USR2 ${pid}   # node ${number} starts again, and catches up`,
    '  Ctrl-C stops all of them.',
  ]
}
