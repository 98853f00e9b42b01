import { useRead } from '../core/records.ts'
import { useSignal } from '@preact/signals'
import { ask, BASE } from '../core/api.ts'
import { changed, overview, type Revision } from '../core/live.ts'
import { may } from '../core/rights.ts'
import { hrefOf, route } from '../core/route.ts'
import { t } from '../core/text.ts'
import { Answered } from '../parts/answered.tsx'
import { Button, Card, Choice, Empty, PageHead, When } from '../parts/basic.tsx'
import { type Change, ChangesList } from '../parts/changes-list.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { isPendingOpen } from '../parts/pending.tsx'
import { type Column, Table } from '../parts/table.tsx'
import { attempt } from '../parts/toast.tsx'

type Tab = 'revisions' | 'audit'

/** What was changed and by whom, and how to take it back. */
export function ChangesPage() {
  const {
    rest: [tab, revision],
  } = route.value
  const tabs: readonly (readonly [Tab, string])[] = [
    ...(may('GET /revisions') ? [['revisions', t('Revisions')] as const] : []),
    ...(may('GET /audit') ? [['audit', t('Audit log')] as const] : []),
  ]
  const [shown] = tabs.find(([one]) => one === tab) ?? tabs[0] ?? ['revisions']
  const waiting = overview.value?.pending?.count
  return (
    <>
      <PageHead title={t('Changes')} hint={t('What was changed and by whom, and how to undo it.')}>
        <Button
          kind={(waiting ?? 0) > 0 ? 'main' : 'plain'}
          needs="GET /services/pending"
          onClick={() => (isPendingOpen.value = true)}
        >
          {waiting === undefined ? t('Pending changes') : t('{count} pending', { count: waiting })}
        </Button>
      </PageHead>
      <Choice
        label={t('View')}
        value={shown}
        options={tabs}
        onChange={(next) => (location.hash = hrefOf('changes', next))}
      />
      {shown === 'audit' ? <Audit /> : <Revisions />}
      {revision === undefined ? null : <OneRevision revision={Number(revision)} />}
    </>
  )
}

const COLUMNS = (): readonly Column<Revision>[] => [
  {
    id: 'revision',
    title: t('Revision'),
    isDescending: true,
    by: ({ revision }) => revision,
    cell: ({ revision }) => String(revision),
  },
  { id: 'at', title: t('Time'), cell: ({ at }) => <When at={at} /> },
  { id: 'by', title: t('By'), isMinor: true, by: ({ by }) => by, cell: ({ by }) => <bdi>{by}</bdi> },
  {
    id: 'count',
    title: t('Records'),
    isNumber: true,
    isMinor: true,
    by: ({ count }) => count,
    cell: ({ count }) => count,
  },
  { id: 'comment', title: t('Comment'), cell: ({ comment }) => <bdi>{comment}</bdi> },
]

function Revisions() {
  const { data, problem } = useRead<readonly Revision[]>('/revisions', { limit: 200 })
  return (
    <Card>
      <Answered of={data} problem={problem}>
        {(all) => (
          <Table
            label={t('Revisions')}
            rows={all}
            columns={COLUMNS()}
            keyOf={({ revision }) => String(revision)}
            hrefOf={({ revision }) => hrefOf('changes', 'revisions', String(revision))}
          />
        )}
      </Answered>
    </Card>
  )
}

function OneRevision({ revision }: { readonly revision: number }) {
  const { data, problem } = useRead<readonly Omit<Change, 'id' | 'by' | 'at' | 'effect' | 'services'>[]>(
    `/revisions/${revision - 1}/diff/${revision}`,
    {},
  )
  const close = () => (location.hash = hrefOf('changes', 'revisions'))
  const act = async (what: 'revert' | 'restore') => {
    const isDone = await attempt(async () => (await ask('PUT', `/revisions/${revision}/${what}`, { body: {} })).message)
    await changed()
    if (!isDone) return
    close()
    isPendingOpen.value = true
  }
  return (
    <Dialog
      title={t('Revision {revision}', { revision: String(revision) })}
      onClose={close}
      isWide
      foot={
        <>
          <Button icon="undo" needs="PUT /revisions/{n}/restore" onClick={() => void act('restore')}>
            {t('Restore this state')}
          </Button>
          <Button
            kind="main"
            icon="undo"
            needs="PUT /revisions/{n}/revert"
            disabled={revision < 2}
            onClick={() => void act('revert')}
          >
            {t('Undo this revision')}
          </Button>
        </>
      }
    >
      <p class="hint">{t('Both only stage changes: nothing goes live until you apply them.')}</p>
      {/* There is none before the first one. */}
      {revision < 2 ? null : (
        <Answered of={data} problem={problem}>
          {(all) => (
            <ChangesList
              changes={all.map((one, at) => ({ ...one, id: String(at), by: '', at: '', effect: '', services: [] }))}
            />
          )}
        </Answered>
      )}
    </Dialog>
  )
}

interface Entry {
  readonly seq: number
  readonly at: string
  readonly by: string
  readonly address: string
  readonly endpoint: string
  readonly method: string
  readonly path: string
  readonly outcome: string
  readonly code?: string
  /** Absent for a request that has begun but not ended. */
  readonly status?: number
}

/** Removes the common prefix of all paths. */
const withoutBase = (path: string): string => (path.startsWith(`/${BASE}/`) ? path.slice(BASE.length + 1) : path)

const AUDIT_COLUMNS = (): readonly Column<Entry>[] => [
  { id: 'at', title: t('Time'), isDescending: true, by: ({ seq }) => seq, cell: ({ at }) => <When at={at} /> },
  {
    id: 'by',
    title: t('By'),
    isMinor: true,
    by: ({ by }) => by,
    cell: ({ by, address }) => (
      <>
        <bdi>{by}</bdi> <span class="hint">{address}</span>
      </>
    ),
  },
  {
    id: 'what',
    title: t('Request'),
    isWide: true,
    isPath: true,
    cell: ({ method, path }) => <span class="code request">{`${method} ${withoutBase(path)}`}</span>,
  },
  {
    id: 'outcome',
    title: t('Outcome'),
    by: ({ outcome }) => outcome,
    cell: ({ outcome, status, code }) => (
      <>
        {[outcome, status].filter((one) => one !== undefined).join(' ')} <span class="minor">{code}</span>
      </>
    ),
  },
]

function Audit() {
  const text = useSignal('')
  const { data, problem } = useRead<readonly Entry[]>('/audit', {
    limit: 500,
    ...(text.value === '' ? {} : { text: text.value }),
  })
  return (
    <Card>
      <input
        type="search"
        class="filter"
        placeholder={t('Search')}
        aria-label={t('Search')}
        value={text.value}
        onChange={(event) => (text.value = event.currentTarget.value)}
      />
      <Answered of={data} problem={problem}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={t('No entries.')} />
          ) : (
            <Table label={t('Audit log')} rows={all} columns={AUDIT_COLUMNS()} keyOf={({ seq }) => String(seq)} />
          )
        }
      </Answered>
    </Card>
  )
}
