import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { useRecords } from '../core/records.ts'
import { ago, t } from '../core/text.ts'
import { Badge, Button, Card, Empty, Loading, PageHead, Problem, type Tone } from '../parts/basic.tsx'
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

const TONES: Readonly<Record<Alert['severity'], Tone>> = { critical: 'bad', warning: 'warn', info: 'info' }

/** What fires, what is looked for, and who is told. */
export function AlertsPage() {
  const alerts = useRecords<Alert>('/alerts')
  const rules = useRecords<Rule>('/alerts/rules')
  const targets = useRecords<Target>('/alerts/targets')
  const editing = useSignal<Editing | undefined>(undefined)
  const isSilencing = useSignal(false)
  const now = (alerts.records ?? []).filter(({ state }) => state !== 'resolved')
  return (
    <>
      <PageHead title={t('Alerts')} hint={t('What fires, what is looked for, and who is told.')}>
        <Button needs="POST /alerts/silences" onClick={() => (isSilencing.value = true)}>
          {t('Silence')}
        </Button>
        <Button
          icon="plus"
          needs="POST /alerts/targets"
          onClick={() =>
            (editing.value = { title: t('New target'), create: 'alertTargets.create', begin: { type: 'webhook' } })
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
      <Problem text={alerts.problem} />
      <Card title={t('Now')}>
        {alerts.records === undefined ? (
          <Loading />
        ) : now.length === 0 ? (
          <Empty title={t('Nothing fires.')}>
            {(rules.records ?? []).length > 0 ? null : <p>{t('Nothing is looked for: that takes a rule.')}</p>}
          </Empty>
        ) : (
          <ul class="plain rows">
            {now.map(({ id, severity, state, text, since, ruleName }) => (
              <li key={id}>
                <Badge tone={TONES[severity]}>{t(severity)}</Badge> {text}{' '}
                <span class="hint">{`${ruleName} · ${ago(since)}`}</span>
                {state === 'silenced' ? <Badge tone="idle">{t('silenced')}</Badge> : null}
              </li>
            ))}
          </ul>
        )}
      </Card>
      <div class="columns even">
        <Card title={t('Rules')}>
          {(rules.records ?? []).length === 0 ? (
            <Empty title={t('No rule yet.')}>
              <p>{t('A rule says what to look for, such as a server that is down, and which targets hear of it.')}</p>
            </Empty>
          ) : null}
          <ul class="plain rows">
            {(rules.records ?? []).map(({ id, name, enabled, severity }) => (
              <li key={id}>
                <bdi>{name}</bdi>{' '}
                <Badge tone={enabled ? TONES[severity] : 'idle'}>{enabled ? t(severity) : t('off')}</Badge>
                <RowButtons
                  id={id}
                  name={name}
                  path="/alerts/rules/{id}"
                  onEdit={() => (editing.value = { title: name, create: '', update: 'alertRules.update', id })}
                />
              </li>
            ))}
          </ul>
        </Card>
        <Card title={t('Targets')}>
          {(targets.records ?? []).length === 0 ? (
            <Empty title={t('No target yet.')}>
              <p>{t('A target is where messages go: mail, a webhook or chat, syslog, SNMP.')}</p>
            </Empty>
          ) : null}
          <ul class="plain rows">
            {(targets.records ?? []).map(({ id, name, type }) => (
              <li key={id}>
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
              </li>
            ))}
          </ul>
        </Card>
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
