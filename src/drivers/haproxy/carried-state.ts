import { printedIps } from './address.ts'

const COLUMNS =
  'be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port'
const COLUMN = Object.fromEntries(COLUMNS.split(' ').map((name, index) => [name, index]))

/** A server-state-file that says nothing: what a HAProxy that starts cold must read. */
export const NO_STATE = `1\n# ${COLUMNS}\n`

/**
 * What a new worker is told of the servers that are down, as a server-state-file: without it a reload sends traffic to
 * them until their next check. Only servers whose address is the same in the new file are in it, with the weight of
 * that file: HAProxy would believe an old address or weight more than its configuration.
 */
export function carriedState(serversState: string, config: string): string {
  const [version, header, ...rows] = serversState.trimEnd().split('\n')
  if (version !== '1' || header !== `# ${COLUMNS}`) return NO_STATE
  const down = rows.map((row) => row.split(' ')).filter(isDownByItsCheck)
  if (down.length === 0) return NO_STATE
  const weights = weightsOf(config)
  const carried = down.flatMap((cells) => {
    const at = (name: string): string => cells[COLUMN[name] ?? -1] ?? ''
    const weight = weights.get(`${at('be_name')}/${at('srv_name')} ${at('srv_addr')} ${at('srv_port')}`)
    if (weight === undefined) return []
    const changed = new Map([
      [COLUMN['srv_admin_state'], '0'],
      [COLUMN['srv_uweight'], weight],
      [COLUMN['srv_iweight'], weight],
    ])
    return [cells.map((cell, index) => changed.get(index) ?? cell).join(' ')]
  })
  return [NO_STATE.trimEnd(), ...carried, ''].join('\n')
}

function isDownByItsCheck(cells: readonly string[]): boolean {
  const isMaintained = (Number(cells[COLUMN['srv_admin_state'] ?? -1]) & ~4) !== 0
  return cells[COLUMN['srv_op_state'] ?? -1] === '0' && !isMaintained
}

/**
 * Weights of the checked servers of a haproxy.cfg of ours, by place and address as `show servers state` prints them.
 */
function weightsOf(config: string): ReadonlyMap<string, string> {
  const weights = new Map<string, string>()
  let backend = ''
  for (const line of config.split('\n')) {
    backend = /^backend (\S+)$/.exec(line)?.[1] ?? backend
    const match = /^ {4}server (\S+) (\S+):(\d+) weight (\d+) (.*)$/.exec(line)
    if (match === null) continue
    const [, name, address = '', port, weight = '', options = ''] = match
    if (!options.includes('check inter ') || options.endsWith(' disabled')) continue
    for (const ip of printedIps(address.replace(/^\[(.*)\]$/, '$1')))
      weights.set(`${backend}/${name} ${ip} ${port}`, weight)
  }
  return weights
}
