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

/** A server-state-file that says nothing: what a HAProxy that starts cold must read. */
export const NO_STATE = `1\n# ${COLUMNS}\n`

/**
 * What a new worker is told, as a server-state-file, of the servers that are down: without it a reload sends traffic to
 * them until their next check; and of those that have names: without it they are out until a name server answers. Only
 * servers whose address or name is the same in the new file are in it, with the weight of that file: HAProxy would
 * believe an old address or weight more than its configuration.
 */
export function carriedState(serversState: string, config: string): string {
  const [version, header, ...rows] = serversState.trimEnd().split('\n')
  if (version !== '1' || header !== `# ${COLUMNS}`) return NO_STATE
  const mayBeNamed = config.includes(NAMED)
  // Most are up and have addresses: of 100,000 rows only those are taken apart that may be carried.
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

/** Where the file says that it is. The host and the port of a server with an SRV record are those of the answer. */
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

/** Whether it is out by its check, or in by an address that its name has. */
function isKnown(cells: readonly string[]): boolean {
  // Disabled by the file is nothing, and neither is that an SRV record named it.
  if ((Number(cellOf(cells, 'srv_admin_state')) & ~(4 | 64)) !== 0) return false
  const isNamed = cellOf(cells, 'srv_fqdn') !== NONE && cellOf(cells, 'srv_addr') !== NONE
  return isNamed || cellOf(cells, 'srv_op_state') === '0'
}

const CHECKED = ' check inter '
const NAMED = ' init-addr '

/** Whether a haproxy.cfg of ours has servers of which a new worker can be told something. */
export const carriesServers = (config: string): boolean => config.includes(CHECKED) || config.includes(NAMED)

const isCarried = (options: string): boolean => !options.endsWith(' disabled') && carriesServers(` ${options}`)

/** Weights of the servers of a haproxy.cfg of ours that are checked or have a name, by place as HAProxy prints it. */
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
