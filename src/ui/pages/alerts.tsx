import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { useRecords } from '../core/records.ts'
import { ago, moment, t } from '../core/text.ts'
import { Rows } from '../parts/answered.tsx'
import { Badge, Button, Card, Empty, PageHead, type Tone } from '../parts/basic.tsx'
import { OperationDialog } from '../parts/operation-dialog.tsx'
import { type Editing, RecordDialog } from '../parts/record-dialog.tsx'
import { RowButtons } from '../parts/row-buttons.tsx'
import { attempt } from '../parts/toast.tsx'

interface Alert {
  readonly id: string
  readonly state: 'firing' | 'silenced' | 'resolved'
  readonly severity: 'info' | 'warning' | 'critical'
  readonly ruleName: string
  readonly objectName: string
  readonly text: string
  readonly since: string
}
interface Rule {
  readonly id: string
  readonly name: string
  readonly enabled: boolean
  readonly severity: Alert['severity']
}
interface Target {
  readonly id: string
  readonly name: string
  readonly type: string
}

interface Silenced {
  readonly id: string
  readonly ruleId: string | null
  readonly objectId: string | null
  readonly objectName: string | null
  readonly reason: string
  readonly by: string
  readonly endsAt: string
}

const TONES: Readonly<Record<Alert['severity'], Tone>> = { critical: 'bad', warning: 'warn', info: 'info' }

/** The fields without which a target of this type reports nothing, or is not secure. */
const NEEDED_BY_TARGET: Readonly<Record<string, readonly string[]>> = {
  mail: ['host', 'from', 'to', 'username', 'password'],
  webhook: ['url', 'template'],
  syslog: ['host', 'transport'],
  snmp: ['host', 'version', 'username', 'authPassphrase', 'privacyPassphrase'],
}

/** Current alerts, rules, and targets. */
export function AlertsPage() {
  const alerts = useRecords<Alert>('/alerts')
  const rules = useRecords<Rule>('/alerts/rules')
  const targets = useRecords<Target>('/alerts/targets')
  const editing = useSignal<Editing | undefined>(undefined)
  const isSilencing = useSignal(false)
  const now = alerts.records?.filter(({ state }) => state !== 'resolved')
  return (
    <>
      <PageHead title={t('Alerts')} hint={t('Firing alerts, alert rules and notification targets.')}>
        <Button needs="POST /alerts/silences" onClick={() => (isSilencing.value = true)}>
          {t('Silence')}
        </Button>
        <Button
          icon="plus"
          needs="POST /alerts/targets"
          onClick={() =>
            (editing.value = {
              title: t('New target'),
              create: 'alertTargets.create',
              begin: { type: 'webhook' },
              first: ({ type }) => ['name', 'type', ...(NEEDED_BY_TARGET[String(type)] ?? [])],
            })
          }
        >
          {t('Target')}
        </Button>
        <Button
          kind="main"
          icon="plus"
          needs="POST /alerts/rules"
          onClick={() =>
            (editing.value = { title: t('New rule'), create: 'alertRules.create', first: ['name', 'when', 'targets'] })
          }
        >
          {t('Rule')}
        </Button>
      </PageHead>
      <Card title={t('Now')}>
        <Rows
          of={now}
          problem={alerts.problem}
          empty={
            <Empty title={t('No alerts are firing.')}>
              {rules.records?.length === 0 ? <p>{t('Nothing is monitored yet: add a rule.')}</p> : null}
            </Empty>
          }
        >
          {({ severity, state, text, since, ruleName }) => (
            <>
              <Badge tone={TONES[severity]}>{t(severity)}</Badge> {text}{' '}
              <span class="hint">{`${ruleName} · ${ago(since)}`}</span>
              {state === 'silenced' ? <Badge tone="idle">{t('silenced')}</Badge> : null}
            </>
          )}
        </Rows>
      </Card>
      <div class="columns even">
        <Card title={t('Rules')}>
          <Rows
            of={rules.records}
            problem={rules.problem}
            empty={
              <Empty title={t('No rules yet.')}>
                <p>{t('A rule defines a condition, such as a server that is down, and the targets to notify.')}</p>
              </Empty>
            }
          >
            {({ id, name, enabled, severity }) => (
              <>
                <bdi>{name}</bdi>{' '}
                <Badge tone={enabled ? TONES[severity] : 'idle'}>{enabled ? t(severity) : t('off')}</Badge>
                <RowButtons
                  id={id}
                  name={name}
                  path="/alerts/rules/{id}"
                  onEdit={() => (editing.value = { title: name, create: '', update: 'alertRules.update', id })}
                />
              </>
            )}
          </Rows>
        </Card>
        <Card title={t('Targets')}>
          <Rows
            of={targets.records}
            problem={targets.problem}
            empty={
              <Empty title={t('No targets yet.')}>
                <p>{t('A target is where notifications are sent: e-mail, a webhook or chat, syslog, SNMP.')}</p>
              </Empty>
            }
          >
            {({ id, name, type }) => (
              <>
                <bdi>{name}</bdi> <span class="hint">{type}</span>
                <RowButtons
                  id={id}
                  name={name}
                  path="/alerts/targets/{id}"
                  onEdit={() => (editing.value = { title: name, create: '', update: 'alertTargets.update', id })}
                >
                  <Button
                    kind="quiet"
                    needs="POST /alerts/targets/{id}/test"
                    onClick={() =>
                      void attempt(async () => (await ask('POST', `/alerts/targets/${id}/test`, { body: {} })).message)
                    }
                  >
                    {t('Test')}
                  </Button>
                </RowButtons>
              </>
            )}
          </Rows>
        </Card>
        <Silences rules={rules.records ?? []} />
      </div>
      {editing.value === undefined ? null : (
        <RecordDialog editing={editing.value} onClose={() => (editing.value = undefined)} />
      )}
      {isSilencing.value ? (
        <OperationDialog id="alertSilences.create" onClose={() => (isSilencing.value = false)} />
      ) : null}
    </>
  )
}

/** Silences; users with the right can end them. */
function Silences({ rules }: { readonly rules: readonly Rule[] }) {
  const { records, problem, isHidden } = useRecords<Silenced>('/alerts/silences')
  if (isHidden === true) return null
  const nameOf = ({ ruleId, objectName, objectId }: Silenced): string => {
    const rule = ruleId === null ? null : (rules.find(({ id }) => id === ruleId)?.name ?? ruleId)
    const said = [rule, objectName ?? objectId].filter((one) => one !== null)
    return said.length === 0 ? t('All alerts') : said.join(' · ')
  }
  async function end(id: string, name: string) {
    if (!confirm(t('End the silence of {name}? Alerts that are still firing will be sent.', { name }))) return
    await attempt(async () => (await ask('DELETE', `/alerts/silences/${id}`, { body: {} })).message)
    await changed()
  }
  return (
    <Card title={t('Silences')}>
      <Rows of={records} problem={problem} empty={<Empty title={t('No active silences.')} />}>
        {(one) => (
          <>
            <bdi>{nameOf(one)}</bdi>{' '}
            <span class="hint">{[one.reason, one.by, t('until {day}', { day: moment(one.endsAt) })].join(' · ')}</span>
            <span class="row-actions">
              <Button
                kind="quiet"
                needs="DELETE /alerts/silences/{id}"
                aria-label={t('End the silence of {name}', { name: nameOf(one) })}
                onClick={() => void end(one.id, nameOf(one))}
              >
                {t('End')}
              </Button>
            </span>
          </>
        )}
      </Rows>
    </Card>
  )
}
