import { printedIps } from './address.ts'

const COLUMNS =
  'be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_iweight srv_time_since_last_change srv_check_status srv_check_result srv_check_health srv_check_state srv_agent_state bk_f_forced_id srv_f_forced_id srv_fqdn srv_port srvrecord srv_use_ssl srv_check_port srv_check_addr srv_agent_addr srv_agent_port'
const COLUMN = Object.fromEntries(COLUMNS.split(' ').map((name, index) => [name, index]))
const columnOf = (name: string): number => COLUMN[name] ?? -1
const [ADMIN, USED_WEIGHT, INITIAL_WEIGHT] = ['srv_admin_state', 'srv_uweight', 'srv_iweight'].map(columnOf) as [
  number,
  number,
  number,
]
const STATE = columnOf('srv_op_state')

/** A server-state-file without servers, for a cold start of HAProxy. */
export const NO_STATE = `1\n# ${COLUMNS}\n`

/**
 * Builds the server-state-file for a new worker. It has the servers that are down, to which a reload would otherwise
 * send traffic until their next check; and those with host names, which would otherwise be out until a name server
 * answers. Only servers with the same address or name in the new configuration are included, with their weight from
 * there: HAProxy would prefer an old address or weight to its configuration.
 */
export function carriedState(serversState: string, config: string): string {
  const [version, header, ...rows] = serversState.trimEnd().split('\n')
  if (version !== '1' || header !== `# ${COLUMNS}`) return NO_STATE
  const mayBeNamed = config.includes(NAMED)
  // Most servers are up and have addresses: of 100,000 rows only possible candidates are split.
  const some = mayBeNamed ? rows : rows.filter(isDown)
  const known = some.map((row) => row.split(' ')).filter((cells) => isKnown(cells))
  if (known.length === 0) return NO_STATE
  const weights = weightsOf(config)
  const carried = known.flatMap((cells) => {
    const weight = weights.get(`${cellOf(cells, 'be_name')}/${cellOf(cells, 'srv_name')} ${placeIn(cells)}`)
    if (weight === undefined) return []
    cells[ADMIN] = '0'
    cells[USED_WEIGHT] = weight
    cells[INITIAL_WEIGHT] = weight
    return [cells.join(' ')]
  })
  return [NO_STATE.trimEnd(), ...carried, ''].join('\n')
}

const NONE = '-'
const cellOf = (cells: readonly string[], name: string): string => cells[columnOf(name)] ?? ''

/**
 * Returns a server's place as the configuration writes it. With an SRV record, host and port are those of the answer.
 */
function placeIn(cells: readonly string[]): string {
  const service = cellOf(cells, 'srvrecord')
  if (service !== NONE) return `${service} 0`
  const name = cellOf(cells, 'srv_fqdn')
  return `${name === NONE ? cellOf(cells, 'srv_addr') : name} ${cellOf(cells, 'srv_port')}`
}

function isDown(row: string): boolean {
  let at = 0
  for (let column = 0; column < STATE; column++) at = row.indexOf(' ', at) + 1
  return row.startsWith('0 ', at)
}

/** Whether the check has put the server down, or it has an address for its name. */
function isKnown(cells: readonly string[]): boolean {
  // Ignores that the file disabled the server, or that an SRV record named it.
  if ((Number(cellOf(cells, 'srv_admin_state')) & ~(4 | 64)) !== 0) return false
  const isNamed = cellOf(cells, 'srv_fqdn') !== NONE && cellOf(cells, 'srv_addr') !== NONE
  return isNamed || cellOf(cells, 'srv_op_state') === '0'
}

const CHECKED = ' check inter '
const NAMED = ' init-addr '

/** Whether a haproxy.cfg of ours has servers whose state can be carried to a new worker. */
export const carriesServers = (config: string): boolean => config.includes(CHECKED) || config.includes(NAMED)

const isCarried = (options: string): boolean => !options.endsWith(' disabled') && carriesServers(` ${options}`)

/**
 * Returns the weights of the servers in a haproxy.cfg of ours that are checked or have a name, by place as HAProxy
 * prints it.
 */
function weightsOf(config: string): ReadonlyMap<string, string> {
  const weights = new Map<string, string>()
  let backend = ''
  for (const line of config.split('\n')) {
    if (line.startsWith('backend ')) backend = line.slice('backend '.length)
    if (!line.startsWith('    server ')) continue
    const match = /^ {4}server (\S+) (\S+) weight (\d+) (.*)$/.exec(line)
    if (match === null) continue
    const [, name, endpoint = '', weight = '', options = ''] = match
    if (!isCarried(options)) continue
    const [, address = '', port = '0'] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(endpoint) ?? []
    for (const ip of printedIps(address.replace(/^\[(.*)\]$/, '$1')))
      weights.set(`${backend}/${name} ${ip} ${port}`, weight)
  }
  return weights
}
