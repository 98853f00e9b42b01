import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask, Refused, UNPROCESSABLE } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { changedFields, isSame, shownValue } from '../core/merge.ts'
import { here } from '../core/records.ts'
import { mayById } from '../core/rights.ts'
import { api, loadApi, type Operation, requiredOf } from '../core/schema.ts'
import { t } from '../core/text.ts'
import { shownOnce, useUnsaved } from '../core/unsaved.ts'
import { Button, Described, Loading, Problem } from './basic.tsx'
import { Dialog } from './dialog.tsx'
import { Fields } from './form.tsx'
import { noAnswer, useDoing } from './doing.ts'
import { FormProblems } from './form-problems.tsx'

type Values = Readonly<Record<string, unknown>>

interface OperationDialogProps {
  readonly id: string
  /** Initial values of path, query and body. */
  readonly begin?: Values
  readonly onClose: () => void
}

/** A form for any operation of the API: its parameters and its body, and the answer. */
export function OperationDialog({ id, begin = {}, onClose }: OperationDialogProps) {
  useEffect(() => void loadApi(), [])
  const operation = api.value?.operations.get(id)
  if (operation === undefined)
    return (
      <Dialog title={id} onClose={onClose}>
        <Loading />
      </Dialog>
    )
  return <Asking operation={operation} begin={begin} onClose={onClose} />
}

const ofPath = ({ path, inPath }: Operation) => inPath.filter(({ name }) => here(path).includes(`{${name}}`))

/**
 * With an empty parameter or a dot, the path is that of the whole collection: without a name, all backups would be
 * deleted.
 */
const NOTHING = /^\s*\.{0,2}\s*$/
function refuseUnsaid(parameters: Operation['inPath'], values: Values): void {
  const unsaid = parameters.filter(({ name }) => NOTHING.test(shownValue(values[name])))
  if (unsaid.length === 0) return
  const errors = unsaid.map(({ name }) => ({ field: name, code: 'REQUIRED', message: t('required') }))
  throw new Refused(UNPROCESSABLE, { code: 'INVALID_QUERY', message: t('Fill in the required fields first.'), errors })
}

/** Returns where the present values are read: at the same path, or with others of its kind at the one above. */
function readPathOf({ path }: Operation): string | undefined {
  const all = [...(api.value?.operations.values() ?? [])]
  return [path, path.slice(0, path.lastIndexOf('/'))].find((at) =>
    all.some((one) => one.method === 'GET' && one.path === at),
  )
}

/** Fields that the API sends only once and stores as a digest. */
const ONCE: ReadonlySet<string> = new Set(['token', 'recoveryCodes'])
const isShownOnce = (data: unknown): boolean => Object.keys(Object(data)).some((name) => ONCE.has(name))

interface AnswerProps {
  readonly answer: { readonly message: string; readonly data: unknown } | undefined
  readonly isRefused: boolean
}

/** Behind the refusal of a later request, the answer to an earlier one would look like a success. */
function Answer({ answer, isRefused }: AnswerProps) {
  const isOnce = isShownOnce(answer?.data)
  useUnsaved(isOnce, shownOnce())
  if (answer === undefined || (isRefused && !isOnce)) return null
  const { message, data } = answer
  return (
    <section aria-live="polite">
      <p class="good-text">{message}</p>
      <pre class="code block">{typeof data === 'string' ? data : JSON.stringify(data, null, 2)}</pre>
    </section>
  )
}

function Asking({
  operation,
  begin,
  onClose,
}: {
  readonly operation: Operation
  readonly begin: Values
  readonly onClose: () => void
}) {
  const parameters = useSignal<Values>(begin)
  const body = useSignal<Values>({})
  /** Values that were read, preset or sent: leaving them loses nothing. */
  const kept = useSignal<readonly Values[]>([begin, {}])
  const answer = useSignal<AnswerProps['answer']>(undefined)
  const { isBusy, refusal, run } = useDoing(operation.effect === 'read' ? noAnswer : undefined)
  const base = useSignal<Values | undefined>(undefined)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => {
    // Settings are edited from their present values.
    const readAt = readPathOf(operation)
    if (operation.method !== 'PUT' || operation.body === undefined || readAt === undefined) return
    const path = here(readAt)
    if (path.includes('{')) return
    const schema = api.value?.whole(operation.body)
    void ask<Values>('GET', path).then(
      ({ data }) => {
        base.value = Object.fromEntries(Object.entries(data).filter(([name]) => name in (schema?.properties ?? {})))
        body.value = { ...base.value, ...body.value }
        kept.value = [begin, base.value]
      },
      () => undefined,
    )
  }, [operation])
  const asked = [...ofPath(operation), ...operation.inQuery]
  const schema = {
    type: 'object',
    required: asked.filter(({ required }) => required === true).map(({ name }) => name),
    properties: Object.fromEntries(
      asked.map(({ name, schema: one, description }) => [name, { description: description ?? '', ...one }]),
    ),
  }

  // Rights may be lost while the dialog is open.
  const isAllowed = operation.right === undefined || mayById(operation.right)

  async function send() {
    refuseUnsaid(ofPath(operation), parameters.value)
    const path = ofPath(operation).reduce(
      (text, { name }) => text.replace(`{${name}}`, encodeURIComponent(shownValue(parameters.value[name]))),
      here(operation.path),
    )
    const inQuery = operation.inQuery.flatMap(({ name }) => {
      const value = parameters.value[name]
      return value === undefined || value === null ? [] : [[name, shownValue(value)] as const]
    })
    const values = body.value
    const sent =
      operation.body === undefined
        ? operation.method === 'GET'
          ? {}
          : { body: {} }
        : { body: changedFields(base.value ?? {}, values, requiredOf(operation)) }
    const { message, data } = await ask(operation.method, path, { query: Object.fromEntries(inQuery), ...sent })
    answer.value = { message, data }
    kept.value = [parameters.value, values]
    // From now on the sent values are the present ones, and restoring the earlier ones is a change.
    if (base.value !== undefined) base.value = values
    if (operation.effect !== 'read') await changed()
  }
  const sendIfWhole = () => (isAllowed && form.current?.reportValidity() !== false ? run(send) : undefined)

  const isUnsaved = operation.effect !== 'read' && !isSame([parameters.value, body.value], kept.value)
  const foot = (
    <>
      <Button onClick={onClose}>{t('Close')}</Button>
      {isAllowed ? (
        <Button
          kind={operation.method === 'DELETE' ? 'danger' : 'main'}
          isBusy={isBusy.value}
          onClick={() => void sendIfWhole()}
        >
          {operation.effect === 'read' ? t('Ask') : t('Send')}
        </Button>
      ) : null}
    </>
  )
  return (
    <Dialog title={operation.summary} onClose={onClose} isUnsaved={isUnsaved} isWide foot={foot}>
      <p class="code">{`${operation.method} ${operation.path}`}</p>
      {isAllowed ? null : <Problem text={t('You do not have permission to do this, or no longer have it.')} />}
      {operation.description === '' ? null : (
        <p class="hint">
          <Described text={operation.description} />
        </p>
      )}
      <FormProblems error={refusal.value?.message} errors={refusal.value?.errors ?? []} />
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          void sendIfWhole()
        }}
      >
        {asked.length === 0 ? null : (
          <Fields
            schema={schema}
            value={parameters.value}
            errors={refusal.value?.errors ?? []}
            onChange={(next) => (parameters.value = next)}
          />
        )}
        {operation.body === undefined ? null : (
          <Fields
            // The present values determine which fields come first.
            key={base.value === undefined ? 'new' : 'read'}
            schema={operation.body}
            value={body.value}
            errors={refusal.value?.errors ?? []}
            onChange={(next) => (body.value = next)}
          />
        )}
        <button type="submit" class="hidden" tabIndex={-1} aria-hidden="true" />
      </form>
      <Answer answer={answer.value} isRefused={refusal.value !== undefined} />
    </Dialog>
  )
}
