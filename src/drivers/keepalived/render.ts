import { createHash } from 'node:crypto'
import { CHECK_DEFAULTS } from '../../model/health-check.ts'
import type { L4Backend } from '../../model/layer4.ts'
import { ROUTER_ID } from '../router-id.ts'
import { checkStatements } from './checks.ts'
import { fallbackCommand } from './fallback.ts'
import { WEIGHTS_FOLDER } from './paths.ts'
import type { Destination, Served } from './services.ts'
import { type Base, baseOf, configWeight, firstValue, weightFileName } from './weights.ts'

const METHODS = { gate: 'DR', masq: 'NAT', ipip: 'TUN' } as const
/**
 * Schedulers that keep a place in their table for a drained real server: without this flag the kernel refuses the
 * clients whose hash leads there (seen in Linux 6.1: a third of them with one of three servers drained).
 */
const FLAGS: Partial<Record<L4Backend['scheduler'], string>> = { sh: 'sh-fallback', mh: 'mh-fallback' }

/** The wanted part of the file: all, or only what needs a reload of keepalived. */
export type Extent = 'all' | 'structure'

/**
 * Renders keepalived.conf: one statement per line, as keepalived reads it. Names are record ids, so nothing that a
 * person typed is syntax. `sync`: see `syncStatement`.
 */
export function renderConfig(all: readonly Served[], sync?: string): string {
  const body = `${[...trackBlocks(all), ...all.map((served) => serviceText(served, 'all'))].join('\n')}\n`
  return `${[...globalLines(sync), ...loadedLines(`${sync ?? ''}${body}`)].join('\n')}\n${body}`
}

/** Computes and caches the part of the file about one frontend. */
export function prepareService(served: Served): void {
  blocksOf(served)
  serviceText(served, 'all')
  serviceText(served, 'structure')
}

/** Name of the file that keepalived creates once it has read this very text. */
export const loadedName = (config: string): string => /loaded\.[\da-f]+/.exec(config)?.[0] ?? 'loaded'

function loadedLines(body: string): readonly string[] {
  const name = `loaded.${createHash('sha256').update(body).digest('hex').slice(0, 16)}`
  return ['track_file loaded {', `    file "${WEIGHTS_FOLDER}/${name}"`, '    weight 1', '    init_file 0', '}']
}
/** Each script runs under the account that it names; keepalived refuses scripts that others can change. */
function globalLines(sync: string | undefined): readonly string[] {
  return [
    '# Written by Fulcrum from its configuration. Changes made here are lost at the next apply.',
    'global_defs {',
    `    ${ROUTER_ID}`,
    '    enable_script_security',
    '    script_user root root',
    ...(sync === undefined ? [] : [`    ${sync}`]),
    '}',
  ]
}

/** One block per file, whichever frontends use it. */
function trackBlocks(all: readonly Served[]): readonly string[] {
  const blocks = new Map<string, string>()
  for (const served of all) {
    for (const [name, block] of blocksOf(served)) blocks.set(name, block)
  }
  return [...blocks.values()]
}

const blocksByServed = new WeakMap<Served, ReadonlyMap<string, string>>()

function blocksOf(served: Served): ReadonlyMap<string, string> {
  const known = blocksByServed.get(served)
  if (known !== undefined) return known
  const blocks = new Map<string, string>()
  for (const destination of served.destinations) {
    const base = baseOf(destination, served)
    const name = weightFileName(destination, base)
    const first = firstValue(destination.share, base)
    blocks.set(
      name,
      `track_file ${name} {\n    file "${WEIGHTS_FOLDER}/${name}"\n    weight 1\n    init_file ${first}\n}`,
    )
  }
  blocksByServed.set(served, blocks)
  return blocks
}

const texts = { all: new WeakMap<Served, string>(), structure: new WeakMap<Served, string>() } as const

/** The blocks of one frontend, cached while its records are the same. */
export function serviceText(served: Served, extent: Extent): string {
  const known = texts[extent].get(served)
  if (known !== undefined) return known
  const text = serviceLines(served, extent).join('\n')
  texts[extent].set(served, text)
  return text
}

function serviceLines(served: Served, extent: Extent): readonly string[] {
  const { frontend, backend, marks, firstPort } = served
  const body = (isByMark: boolean): readonly string[] => [
    ...(isByMark ? [`    ip_family ${frontend.ip.includes(':') ? 'inet6' : 'inet'}`] : []),
    `    delay_loop ${backend.healthCheck.interval ?? CHECK_DEFAULTS.interval}`,
    `    lvs_sched ${backend.scheduler}`,
    ...schedulerFlag(backend),
    `    lvs_method ${METHODS[frontend.forwarding]}`,
    ...(isByMark ? [] : [`    protocol ${frontend.protocol.toUpperCase()}`]),
    ...persistence(served),
    ...fallback(served),
    ...served.destinations.flatMap((destination) => serverLines(destination, served, extent)),
    '}',
  ]
  return [
    ...comment(frontend.name, '', extent),
    ...(marks.length === 0
      ? [`virtual_server ${frontend.ip} ${firstPort} {`, ...body(false)]
      : byMarks(served, body(true))),
  ]
}

function schedulerFlag({ scheduler }: L4Backend): readonly string[] {
  const flag = FLAGS[scheduler]
  return flag === undefined ? [] : [`    ${flag}`]
}

/**
 * A group of marks is checked once. keepalived 2.2.7 forgets the mask of a group, so frontends with a mask have a
 * server for each mark.
 */
function byMarks({ frontend, backend, marks }: Served, body: readonly string[]): readonly string[] {
  if (backend.persistMask !== null) return marks.flatMap((mark) => [`virtual_server fwmark ${mark} {`, ...body])
  const members = marks.map((mark) => `    fwmark ${mark}`)
  return [`virtual_server_group ${frontend.id} {`, ...members, '}', `virtual_server group ${frontend.id} {`, ...body]
}

function persistence({ frontend, backend: { persistTimeout, persistMask } }: Served): readonly string[] {
  if (persistTimeout === 0) return []
  const mask = persistMask === null ? undefined : maskText(persistMask, frontend.ip.includes(':'))
  return [
    `    persistence_timeout ${persistTimeout}`,
    ...(mask === undefined ? [] : [`    persistence_granularity ${mask}`]),
  ]
}

/** Returns a dotted mask for IPv4, a prefix length for IPv6. */
export function maskText(mask: string, isIpv6: boolean): string {
  if (isIpv6 || mask.includes('.')) return mask
  const bits = '1'.repeat(Number(mask)).padEnd(32, '0')
  return [0, 8, 16, 24].map((at) => Number.parseInt(bits.slice(at, at + 8), 2)).join('.')
}

function fallback(served: Served): readonly string[] {
  if (served.backend.fallback === null) return []
  const line = (verb: 'add' | 'remove') => `"${fallbackCommand(served, verb).join(' ')}" root root`
  return [`    quorum_up ${line('remove')}`, `    quorum_down ${line('add')}`]
}

/** Halting a server at runtime, or bringing it back, does not change the structure. */
const baseIn = (extent: Extent, destination: Destination, served: Served): Base =>
  extent === 'all' ? baseOf(destination, served) : 'one'

function serverLines(destination: Destination, served: Served, extent: Extent): readonly string[] {
  const base = baseIn(extent, destination, served)
  const check = checkStatements(served.backend, destination, served.frontend)
  return [
    ...comment(destination.name, '    ', extent),
    `    real_server ${destination.ip} ${destination.port} {`,
    `        weight ${configWeight(base)}`,
    '        FILE_CHECK {',
    `            track_file ${weightFileName(destination, base)}`,
    '            weight 1',
    '        }',
    ...check.map((line) => `        ${line}`),
    '    }',
  ]
}

/**
 * Makes a name safe for a comment: a backslash at its end would continue in the next line, and braces may look like the
 * place of an interface.
 */
function comment(name: string, indent: string, extent: Extent): readonly string[] {
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what may not reach the file
  const text = name.replaceAll(/[\\{}\u0000-\u001f\u007f\u0085\u2028\u2029]/g, ' ').trim()
  return extent === 'all' ? [`${indent}# ${text}`] : []
}
