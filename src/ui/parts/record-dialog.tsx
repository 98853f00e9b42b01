import { useSignal } from '@preact/signals'
import type { Ref } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ask, type FieldError, read, Refused } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { changedFields, isSame, merge, type Merged, type Values } from '../core/merge.ts'
import { sectionOf } from '../core/record-document.ts'
import { here } from '../core/records.ts'
import { api, loadApi, type Operation, requiredOf, type Schema } from '../core/schema.ts'
import { moment, t } from '../core/text.ts'
import { Button, Choice, Loading, Problem } from './basic.tsx'
import { Dialog } from './dialog.tsx'
import { useDoing } from './doing.ts'
import { Fields, labelOf } from './form.tsx'
import { FormProblems } from './form-problems.tsx'
import { RenderedLines } from './rendered-lines.tsx'
import { say } from './toast.tsx'

/** The operations, by id, with which a dialog creates or changes a record. */
export interface Editing {
  readonly title: string
  readonly create: string
  readonly update?: string
  /** Id of the record to change; absent for a new one. */
  readonly id?: string | undefined
  /** Initial values of a new record. */
  readonly begin?: Values
  /** Fields to show first, which may depend on the values of others. */
  readonly first?: readonly string[] | ((value: Values) => readonly string[])
}

interface Draft {
  readonly base: Values
  readonly value: Values
  readonly etag: string | undefined
}

const isChanged = (draft: Draft | undefined) => draft !== undefined && !isSame(draft.base, draft.value)
const nameIn = ({ name }: Values): string | undefined => (typeof name === 'string' ? name : undefined)

const linesOf = (section: string | undefined, id: string | undefined, { base }: Draft): Beside['lines'] =>
  section === undefined ? undefined : { section, before: id === undefined ? undefined : nameIn(base) }

const pathOf = ({ path }: Operation, id: string | undefined) =>
  here(path).replace(/\{id\}/, encodeURIComponent(id ?? ''))

/** Creates or changes a record: with a form, its JSON, and its history. Saving stages the change. */
export function RecordDialog({ editing, onClose }: { readonly editing: Editing; readonly onClose: () => void }) {
  const { title, create, update = '', id, begin = {}, first = [] } = editing
  const draft = useSignal<Draft | undefined>(
    id === undefined ? { base: begin, value: begin, etag: undefined } : undefined,
  )
  const { isBusy, refusal, run } = useDoing()
  const met = useSignal<Merged | undefined>(undefined)
  const tab = useSignal<View>('form')
  const seesLines = useSignal(false)
  const form = useRef<HTMLFormElement>(null)
  /** Shows invalid input at its field. */
  const isWhole = () => form.current?.reportValidity() !== false
  const operation = api.value?.operations.get(id === undefined ? create : update)
  useEffect(() => void loadApi(), [])
  useEffect(() => {
    if (operation === undefined || id === undefined || draft.value !== undefined) return
    void run(async () => (draft.value = await load(operation, id)))
  }, [operation, id])

  async function save() {
    const drawn = draft.value
    if (operation !== undefined && drawn !== undefined && isWhole()) await run(() => send(operation, drawn))
  }

  async function send(of: Operation, { base, value, etag }: Draft) {
    try {
      const body = id === undefined ? value : changedFields(base, value, requiredOf(of))
      const { message } = await ask(of.method, pathOf(of, id), { body, ifMatch: etag })
      say(message)
      onClose()
      await changed()
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 412 || id === undefined) throw error
      await meet(of, id, { base, value, etag })
    }
  }

  /** Merges and shows both versions if another user has saved first. */
  async function meet(of: Operation, record: string, { base, value }: Draft) {
    const theirs = await load(of, record)
    const merged = merge(base, value, theirs.base)
    met.value = merged
    draft.value = { base: theirs.base, value: merged.value, etag: theirs.etag }
  }

  const section = sectionOf(id === undefined ? create : update)
  const foot = (
    <>
      <LinesButton
        section={section}
        name={nameIn(draft.value?.value ?? {})}
        isOn={seesLines.value}
        onToggle={() => (seesLines.value = !seesLines.value)}
      />
      <Button onClick={onClose}>{t('Cancel')}</Button>
      <Button kind="main" isBusy={isBusy.value} disabled={draft.value === undefined} onClick={() => void save()}>
        {id === undefined ? t('Create') : t('Save')}
      </Button>
    </>
  )
  const now = draft.value
  const errors = refusal.value?.errors ?? []
  return (
    <Dialog title={title} onClose={onClose} isUnsaved={isChanged(now)} isWide isWidest={seesLines.value} foot={foot}>
      {id === undefined ? null : (
        <Views
          value={tab.value}
          onChange={(next) => {
            if (isWhole()) tab.value = next
          }}
        />
      )}
      <FormProblems error={refusal.value?.message} errors={errors} />
      <Conflicts
        merged={met.value}
        onChoose={(field, chosen) => {
          if (now !== undefined) draft.value = { ...now, value: { ...now.value, [field]: chosen } }
        }}
      />
      {now === undefined || operation?.body === undefined ? (
        <Awaited isRefused={refusal.value !== undefined} />
      ) : tab.value === 'history' && id !== undefined ? (
        <History id={id} />
      ) : tab.value === 'json' ? (
        <pre class="code block">{JSON.stringify(now.value, null, 2)}</pre>
      ) : (
        <FormBesideLines
          key={now.etag}
          form={form}
          schema={operation.body}
          value={now.value}
          errors={errors}
          first={first}
          lines={seesLines.value ? linesOf(section, id, now) : undefined}
          onChange={(value) => (draft.value = { ...now, value })}
          onSubmit={() => void save()}
        />
      )}
    </Dialog>
  )
}

function LinesButton({
  section,
  name = '',
  isOn,
  onToggle,
}: {
  readonly section: string | undefined
  readonly name: string | undefined
  readonly isOn: boolean
  readonly onToggle: () => void
}) {
  if (section === undefined) return null
  return (
    <Button
      kind="quiet"
      icon="operations"
      class="first"
      needs="POST /config/plan"
      aria-pressed={isOn}
      disabled={name === ''}
      onClick={onToggle}
    >
      {t('Lines of haproxy.cfg')}
    </Button>
  )
}

const Awaited = ({ isRefused }: { readonly isRefused: boolean }) => (isRefused ? null : <Loading />)

type View = 'form' | 'json' | 'history'

const Views = ({ value, onChange }: { readonly value: View; readonly onChange: (next: View) => void }) => (
  <Choice
    label={t('View')}
    value={value}
    options={[
      ['form', t('Form')],
      ['json', 'JSON'],
      ['history', t('History')],
    ]}
    onChange={onChange}
  />
)

interface Beside {
  readonly form: Ref<HTMLFormElement>
  readonly schema: Schema
  readonly value: Values
  readonly errors: readonly FieldError[]
  readonly first: NonNullable<Editing['first']>
  readonly lines: { readonly section: string; readonly before: string | undefined } | undefined
  readonly onChange: (value: Values) => void
  readonly onSubmit: () => void
}

const FormBesideLines = ({ form, schema, value, errors, first, lines, onChange, onSubmit }: Beside) => (
  <div class={lines === undefined ? '' : 'two'}>
    <form
      ref={form}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      <Fields
        schema={schema}
        value={value}
        errors={errors}
        first={typeof first === 'function' ? first(value) : first}
        onChange={onChange}
      />
      <button type="submit" class="hidden" tabIndex={-1} aria-hidden="true" />
    </form>
    {lines === undefined ? null : <RenderedLines {...lines} value={value} />}
  </div>
)

/** Loads the fields of the record that the form may send back. */
async function load(operation: Operation, id: string): Promise<Draft> {
  const { data, etag } = await ask<Values>('GET', pathOf(operation, id))
  const known = operation.body === undefined ? {} : (api.value?.whole(operation.body).properties ?? {})
  const base = Object.fromEntries(Object.entries(data).filter(([name]) => name in known))
  return { base, value: base, etag }
}

function Conflicts({
  merged,
  onChoose,
}: {
  readonly merged: Merged | undefined
  readonly onChoose: (field: string, value: unknown) => void
}) {
  if (merged === undefined) return null
  return (
    <div class="problem block warn" role="alert">
      <p>
        {t(
          'Somebody else has changed this record in the meantime. The form shows their changes; nothing is saved yet.',
        )}
      </p>
      {merged.conflicts.map(({ field, mine, theirs }) => (
        <p key={field} class="conflict">
          <strong>{labelOf(field)}</strong>
          <Button onClick={() => onChoose(field, mine)}>
            {t('Mine: {value}', { value: JSON.stringify(mine) ?? '–' })}
          </Button>
          <Button onClick={() => onChoose(field, theirs)}>
            {t('Theirs: {value}', { value: JSON.stringify(theirs) ?? '–' })}
          </Button>
        </p>
      ))}
    </div>
  )
}

interface Audited {
  readonly seq: number
  readonly at: string
  readonly by: string
  readonly endpoint: string
  readonly outcome: string
}

function History({ id }: { readonly id: string }) {
  const entries = useSignal<readonly Audited[] | undefined>(undefined)
  const problem = useSignal<string | undefined>(undefined)
  useEffect(() => {
    read<readonly (Audited & { readonly path: string })[]>('/audit', { limit: 1000 }).then(
      (all) => (entries.value = all.filter(({ path }) => path.includes(id))),
      (error: Error) => (problem.value = error.message),
    )
  }, [id])
  if (problem.value !== undefined) return <Problem text={problem.value} />
  if (entries.value === undefined) return <Loading />
  return (
    <ol class="timeline">
      {entries.value.length === 0 ? <li>{t('No changes in the last 1,000 entries of the audit log.')}</li> : null}
      {entries.value.map(({ seq, at, by, endpoint, outcome }) => (
        <li key={seq}>
          <time>{moment(at)}</time> <strong>{by}</strong> {endpoint} · {outcome}
        </li>
      ))}
    </ol>
  )
}
