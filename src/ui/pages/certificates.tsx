import { useSignal } from '@preact/signals'
import { daemonNow_ms } from '../core/clock.ts'
import { shownValue } from '../core/merge.ts'
import { useRecords } from '../core/records.ts'
import { day, t } from '../core/text.ts'
import { Answered, Rows } from '../parts/answered.tsx'
import { Badge, Button, Card, Empty, PageHead, type Tone } from '../parts/basic.tsx'
import { OperationDialog } from '../parts/operation-dialog.tsx'
import { type Editing, RecordDialog } from '../parts/record-dialog.tsx'
import { RowButtons } from '../parts/row-buttons.tsx'
import { type Column, Table } from '../parts/table.tsx'

interface Certificate {
  readonly id: string
  readonly name: string
  readonly certInfo: Readonly<Record<string, unknown>>
  readonly validTo: string
  readonly usage: readonly { readonly name?: string }[]
}
interface Order {
  readonly id: string
  readonly name: string
  readonly names: readonly string[]
  readonly state: string
  readonly lastError: string | null
  readonly nextRenewal: string | null
}

const DAY_MS = 86_400_000
const daysLeft = (until: string): number => Math.floor((Date.parse(until) - daemonNow_ms()) / DAY_MS)
const toneOf = (days: number): Tone => (days < 0 ? 'bad' : days <= 30 ? 'warn' : 'good')

/** Certificates with their ends, and ACME orders. */
export function CertificatesPage() {
  const { records, problem } = useRecords<Certificate>('/certificates/certs')
  const orders = useRecords<Order>('/certificates/acme/orders')
  const editing = useSignal<Editing | undefined>(undefined)
  const operation = useSignal<{ readonly id: string; readonly begin: { readonly id: string } } | undefined>(undefined)
  const columns: readonly Column<Certificate>[] = [
    { id: 'name', title: t('Name'), by: ({ name }) => name, cell: ({ name }) => <bdi>{name}</bdi> },
    {
      id: 'end',
      title: t('Ends'),
      by: ({ validTo }) => Date.parse(validTo),
      cell: ({ validTo }) => {
        const count = daysLeft(validTo)
        return (
          <>
            <Badge tone={toneOf(count)}>{count < 0 ? t('expired') : t('{count:day|days}', { count })}</Badge>{' '}
            {day(validTo)}
          </>
        )
      },
    },
    {
      id: 'subject',
      title: t('For'),
      isMinor: true,
      cell: ({ certInfo }) => <span class="code">{shownValue(certInfo['subject'] ?? certInfo['commonName'])}</span>,
    },
    {
      id: 'use',
      title: t('Used by'),
      isNumber: true,
      isMinor: true,
      by: ({ usage }) => usage.length,
      cell: ({ usage }) => usage.length,
    },
    {
      id: 'actions',
      title: '',
      cell: ({ id, name }) => (
        <RowButtons
          id={id}
          name={name}
          path="/certificates/certs/{id}"
          label={t('Replace {name}', { name })}
          onEdit={() => (operation.value = { id: 'certificates.update', begin: { id } })}
        />
      ),
    },
  ]
  const upload = (): Editing => ({
    title: t('Upload a certificate'),
    create: 'certificates.create',
    first: ['name', 'pem'],
  })
  return (
    <>
      <PageHead title={t('Certificates')} hint={t('Certificates of the frontends, and when they expire.')}>
        <Button
          icon="plus"
          needs="POST /certificates/acme/orders"
          onClick={() =>
            (editing.value = {
              title: t('Order with ACME'),
              create: 'acmeOrders.create',
              first: ['name', 'accountId', 'names'],
            })
          }
        >
          {t('Order with ACME')}
        </Button>
        <Button kind="main" icon="plus" needs="POST /certificates/certs" onClick={() => (editing.value = upload())}>
          {t('Upload')}
        </Button>
      </PageHead>
      <Card>
        <Answered of={records} problem={problem}>
          {(all) =>
            all.length === 0 ? (
              <Empty title={t('No certificates yet.')}>
                <p>
                  {t(
                    'Upload one with its key, or have a certificate authority such as Let’s Encrypt issue and renew it automatically (ACME).',
                  )}
                </p>
              </Empty>
            ) : (
              <Table label={t('Certificates')} rows={all} columns={columns} keyOf={({ id }) => id} />
            )
          }
        </Answered>
      </Card>
      <Card
        title={t('Automatic (ACME)')}
        more={
          <Button
            kind="quiet"
            icon="plus"
            needs="POST /certificates/acme/accounts"
            onClick={() => (editing.value = { title: t('New ACME account'), create: 'acmeAccounts.create' })}
          >
            {t('Account')}
          </Button>
        }
      >
        <Rows of={orders.records} problem={orders.problem} empty={<Empty title={t('No orders.')} />}>
          {({ id, name, names, state, lastError, nextRenewal }) => (
            <>
              <strong>{name}</strong> <span class="code">{names.join(', ')}</span>{' '}
              <Badge tone={lastError === null ? 'good' : 'warn'}>{state}</Badge>{' '}
              {nextRenewal === null ? null : <span class="hint">{t('renewed {day}', { day: day(nextRenewal) })}</span>}
              {lastError === null ? null : <p class="error">{lastError}</p>}
              <Button
                kind="quiet"
                needs="PUT /certificates/acme/orders/{id}/renew"
                onClick={() => (operation.value = { id: 'acmeOrders.renew', begin: { id } })}
              >
                {t('Renew now')}
              </Button>
            </>
          )}
        </Rows>
      </Card>
      {editing.value === undefined ? null : (
        <RecordDialog editing={editing.value} onClose={() => (editing.value = undefined)} />
      )}
      {operation.value === undefined ? null : (
        <OperationDialog {...operation.value} onClose={() => (operation.value = undefined)} />
      )}
    </>
  )
}
