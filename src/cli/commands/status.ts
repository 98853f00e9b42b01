import type { Command } from 'commander'
import { untilTakenBack } from '../changes.ts'
import { type Common, optionsOf, type Run } from '../command.ts'
import { tellingOf } from '../failure.ts'
import { coloured, type Colour, printable, short, span, table } from '../output.ts'

/** Exit codes of checks, as in Nagios. */
const CODES = { ok: 0, warning: 1, critical: 2 } as const

interface Count {
  readonly total: number
  readonly up: number
  readonly down: number
}

interface Layer {
  readonly problem: string | null
  readonly frontends: Count
  readonly backends: Count
  readonly reals: Count & { readonly drained: number; readonly halted: number; readonly unknown: number }
  readonly traffic: Readonly<Record<'sessions' | 'newPerSecond' | 'requestsPerSecond', number | null>>
}

interface Overview {
  readonly version: string
  readonly haproxy: { readonly version: string | null } | null
  readonly layer7: Layer
  readonly layer4: Layer
  readonly nodes: readonly {
    readonly name: string
    readonly state: string
    readonly isSelf: boolean
    readonly isLeader: boolean
    readonly version: string | null
  }[]
  readonly attention: readonly { readonly severity: string; readonly message: string }[]
  readonly more: number
  readonly apply: { readonly state: string; readonly revision: number; readonly secondsLeft: number | null } | null
  readonly pending: { readonly count: number; readonly mine: number } | null
  readonly revisions: readonly { readonly revision: number; readonly by: string; readonly at: string }[] | null
}

const COLOURS: Readonly<Record<string, Colour>> = { critical: 'red', warning: 'yellow', info: 'dim' }

/** Adds the command that prints the first screen as text. */
export function addStatus(program: Command, run: Run): void {
  program
    .command('status')
    .description('show the state at a glance; exit code 0: ok, 1: warning, 2: critical, 3: unknown')
    .action((_options: unknown, command: Command) => status(run, optionsOf(command)))
}

async function status(run: Run, common: Common): Promise<void> {
  const seen = await tellingOf(() => run.connect(common).get<Overview>('/overview'))
  const worst = (severity: string) => seen.attention.some((one) => one.severity === severity)
  run.exitCode = worst('critical') ? CODES.critical : worst('warning') ? CODES.warning : CODES.ok
  if (common.json === true) run.json(seen)
  else show(run, seen)
}

function show({ terminal }: Run, seen: Overview): void {
  const layers = Object.entries({ 7: seen.layer7, 4: seen.layer4 }).filter(([, { frontends }]) => frontends.total > 0)
  const of = ({ up, total }: Count) => `${up}/${total} up`
  const rows = layers.map(([layer, { frontends, backends, reals, traffic }]) => ({
    layer,
    frontends: of(frontends),
    backends: of(backends),
    // Unknown servers, which nothing checks or whose checks are out of reach, are neither up nor down.
    servers: `${of(reals)}${reals.unknown === 0 ? '' : `, ${reals.unknown} unknown`}`,
    drained: String(reals.drained),
    halted: String(reals.halted),
    sessions: short(traffic.sessions),
    'new/s': short(traffic.newPerSecond),
    'requests/s': short(traffic.requestsPerSecond),
  }))
  const columns = Object.keys(rows[0] ?? {})
  terminal.out(rows.length === 0 ? 'There are no services yet.\n' : table(rows, columns, terminal.columns))
  for (const [layer, { problem }] of layers)
    if (problem !== null) terminal.out(`Layer ${layer}: ${printable(problem)}\n`)
  if (seen.nodes.length > 1) {
    const nodes = seen.nodes.map(({ name, state, isSelf, isLeader, version }) => ({
      node: name,
      state,
      version: version ?? '',
      '': [isSelf ? 'asked' : '', isLeader ? 'leads' : ''].filter((one) => one !== '').join(', '),
    }))
    terminal.out(`\n${table(nodes, ['node', 'state', 'version', ''], terminal.columns)}`)
  }
  terminal.out(`\n${[...liveIn(seen), ...attentionIn(seen, terminal.hasColour)].join('\n')}\n`)
}

function liveIn({ apply, pending, revisions }: Overview): readonly string[] {
  const [last] = revisions ?? []
  const when =
    last === undefined
      ? ''
      : `, applied ${span((Date.now() - Date.parse(last.at)) / 1000)} ago by ${printable(last.by)}`
  const waits = apply?.secondsLeft == null ? [] : [`It ${untilTakenBack(apply.secondsLeft)}`]
  const changes =
    pending === null || pending.count === 0
      ? []
      : [`${pending.count === 1 ? '1 change is' : `${pending.count} changes are`} pending, ${pending.mine} yours.`]
  return [...(apply === null ? [] : [`Revision ${apply.revision} runs${when}.`]), ...waits, ...changes]
}

function attentionIn({ attention, more }: Overview, hasColour: boolean): readonly string[] {
  if (attention.length === 0) return ['Nothing needs attention.']
  const lines = attention.map(({ severity, message }) =>
    coloured({ hasColour }, COLOURS[severity] ?? 'dim', printable(`${severity}: ${message}`)),
  )
  return more === 0 ? lines : [...lines, `and ${more} more`]
}
