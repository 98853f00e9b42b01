import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { newIn, openIn } from '../core/figures.ts'
import { changed, figuresOfServer, tick } from '../core/live.ts'
import { may } from '../core/rights.ts'
import { hrefOf } from '../core/route.ts'
import { short, t } from '../core/text.ts'
import { Badge, Button, Empty, type Tone } from './basic.tsx'
import { type Column, Table } from './table.tsx'
import { say, sayProblem } from './toast.tsx'

export interface ServerRecord {
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly port: number | null
  readonly weight: number
  readonly state: 'online' | 'drained' | 'halted'
  readonly health: 'up' | 'down' | 'checking' | 'unknown'
}

const STATES: Readonly<Record<ServerRecord['state'], Tone>> = { online: 'good', drained: 'warn', halted: 'idle' }
const HEALTH: Readonly<Record<ServerRecord['health'], Tone>> = {
  up: 'good',
  down: 'bad',
  checking: 'info',
  unknown: 'idle',
}

const columns = (): readonly Column<ServerRecord>[] => [
  {
    id: 'name',
    title: t('Name'),
    by: ({ name }) => name,
    isWide: true,
    isShort: ({ name }) => name.length <= 12,
    cell: ({ name }) => <bdi>{name}</bdi>,
  },
  {
    id: 'address',
    title: t('Address'),
    isMinor: true,
    by: ({ ip, port }) => `${ip} ${port}`,
    isShort: ({ ip }) => !ip.includes(':'),
    cell: ({ ip, port }) => <span class="code">{`${ip}${port === null ? '' : `:${port}`}`}</span>,
  },
  {
    id: 'health',
    title: t('Health'),
    by: ({ health }) => health,
    isShort: () => true,
    cell: ({ health }) => Badge({ tone: HEALTH[health], children: t(health) }),
  },
  {
    id: 'state',
    title: t('State'),
    by: ({ state }) => state,
    isShort: () => true,
    cell: ({ state }) => Badge({ tone: STATES[state], children: t(state) }),
  },
  {
    id: 'weight',
    title: t('Weight'),
    isNumber: true,
    isMinor: true,
    by: ({ weight }) => weight,
    cell: ({ weight }) => weight,
  },

  {
    id: 'sessions',
    title: t('Sessions'),
    isNumber: true,
    isMinor: true,
    cell: ({ id }: ServerRecord) => short(openIn(figuresOfServer(id))),
  },
  {
    id: 'rate',
    title: t('Per second'),
    isNumber: true,
    isMinor: true,
    cell: ({ id }: ServerRecord) => short(newIn(figuresOfServer(id))),
  },
]

const MOVES = ['online', 'drain', 'halt'] as const
/** Labels of the buttons. */
const DOES = { online: 'Bring online', drain: 'Drain', halt: 'Halt' } as const
const RIGHTS = {
  online: 'PUT /ipvsDirector/rips/{id}/online',
  drain: 'PUT /ipvsDirector/rips/{id}/drain',
  halt: 'PUT /ipvsDirector/rips/{id}/halt',
} as const

/** Servers with their figures; ticked ones are moved together. */
export function ServersTable({ servers }: { readonly servers: readonly ServerRecord[] }) {
  const ticked = useSignal<ReadonlySet<string>>(new Set())
  const isBusy = useSignal(false)
  void tick.value
  const chosen = servers.filter(({ id }) => ticked.value.has(id))
  async function move(to: (typeof MOVES)[number]) {
    isBusy.value = true
    try {
      for (const { id } of chosen) {
        await ask('PUT', `/ipvsDirector/rips/${id}/${to}`, { body: {} })
        // Shows how many are left while it continues; those that failed stay ticked.
        const left = new Set(ticked.peek())
        left.delete(id)
        ticked.value = left
      }
      say(t('{count:server|servers}: {move} with the next apply', { count: chosen.length, move: t(to) }))
    } catch (error) {
      sayProblem(error)
    } finally {
      isBusy.value = false
      await changed()
    }
  }
  const mayMove = may(...MOVES.map((to) => RIGHTS[to]))
  if (servers.length === 0) return <Empty title={t('No servers.')} />
  return (
    <>
      <div class={chosen.length === 0 ? 'bulk off' : 'bulk'} aria-live="polite" hidden={!mayMove}>
        <span>
          {chosen.length === 0
            ? t('Select servers to drain, halt or bring them online.')
            : t('{count} selected', { count: chosen.length })}
        </span>
        {MOVES.map((to) => (
          <Button
            key={to}
            needs={RIGHTS[to]}
            kind={to === 'halt' ? 'danger' : 'plain'}
            disabled={chosen.length === 0}
            isBusy={isBusy.value}
            onClick={() => void move(to)}
          >
            {t(DOES[to])}
          </Button>
        ))}
      </div>
      <Table
        label={t('Servers')}
        rows={servers}
        columns={columns()}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('servers', id)}
        {...(mayMove ? { ticked: ticked.value } : {})}
        onTick={(next) => (ticked.value = next)}
        hasFigures
      />
    </>
  )
}
