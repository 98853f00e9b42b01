import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { FieldError } from '../core/api.ts'
import { begunWith, isBlamed, namesOf, ordered } from '../core/form-order.ts'
import { shownValue } from '../core/merge.ts'
import { api, type Api, type Asked, askedOf, asMeant, markedAs, markOf, type Schema } from '../core/schema.ts'
import { t } from '../core/text.ts'
import { Button, Described } from './basic.tsx'
import { JsonField } from './json-field.tsx'
import { NumberInput } from './number-input.tsx'
import { RecordChoice } from './record-choice.tsx'

/**
 * A form made from a schema of the API: every field knows its type, range, default, and the records it may refer to.
 */

type Values = Readonly<Record<string, unknown>>

interface FieldProps {
  readonly name: string
  readonly schema: Schema
  /** The path as the API names it in a refusal: `reals.0.ripId`. */
  readonly path: string
  readonly value: unknown
  readonly isRequired: boolean
  readonly errors: readonly FieldError[]
  readonly onChange: (value: unknown) => void
}

interface FieldsProps {
  readonly schema: Schema
  readonly path?: string
  readonly value: Values
  readonly errors: readonly FieldError[]
  readonly onChange: (value: Values) => void
  /** Fields to show first; the others are behind a click unless they had a value when the form was opened. */
  readonly first?: readonly string[]
}

const within = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)

/** Words written in capitals. */
const CAPITALS = /\b(ip|ips|tls|url|http|http3|hsts|alpn|dns|ca|sni|snmp|ntp|pem|pfx)\b/g

/** `defaultBackendId` → "Default backend". */
export function labelOf(name: string): string {
  const words = name
    .replace(/Ids?$/, '')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
  const written = words.replaceAll(CAPITALS, (word) => (word === 'ips' ? 'IPs' : word.toUpperCase()))
  return written.charAt(0).toUpperCase() + written.slice(1)
}

/**
 * Which fields are early is decided once: a field that moved when the user begins to type into it would lose the focus.
 * Only refused fields come forward later, and stay.
 */
export function Fields({ schema, path = '', value, errors, onChange, first = [] }: FieldsProps) {
  const begun = useRef<{ early: ReadonlySet<string>; readonly isOpen: boolean } | undefined>(undefined)
  const known = api.value
  if (known === undefined) return null
  const whole = known.whole(schema)
  const { properties = {}, required = [] } = whole
  const names = namesOf(whole)
  if (begun.current === undefined) {
    const early = begunWith(whole, value)
    begun.current = { early, isOpen: !names.some((name) => early.has(name) || first.includes(name)) }
  }
  const blamed = names.filter((name) => isBlamed(within(path, name), errors))
  begun.current.early = new Set([...begun.current.early, ...blamed])
  const { early, late } = ordered(names, first, begun.current.early)
  const field = (name: string) => (
    <Field
      key={name}
      name={name}
      schema={properties[name] ?? {}}
      path={within(path, name)}
      value={value[name]}
      isRequired={required.includes(name)}
      errors={errors}
      onChange={(next) => onChange(withValue(value, name, next))}
    />
  )
  return (
    <div class="fields">
      {early.map(field)}
      {late.length === 0 ? null : (
        <details class="late" open={begun.current.isOpen} onInvalidCapture={opened}>
          <summary>{t('{count:more setting|more settings}', { count: late.length })}</summary>
          <div class="fields">{late.map(field)}</div>
        </details>
      )}
    </div>
  )
}

/** An invalid field must be visible. */
const opened = ({ currentTarget }: { readonly currentTarget: HTMLDetailsElement }) => {
  currentTarget.open = true
}

/** Undefined leaves a field out. */
function withValue(values: Values, name: string, value: unknown): Values {
  const { [name]: _, ...others } = values
  return value === undefined ? others : { ...values, [name]: value }
}

function Field(props: FieldProps) {
  const id = useId()
  const known = api.value
  if (known === undefined) return null
  const asked = askedOf(props.schema, props.name, known)
  if (asked.how.kind === 'fixed') return null
  const error = props.errors.find(({ field }) => field === props.path)?.message
  const isGroup = ['list', 'fields', 'forms'].includes(asked.how.kind)
  const hint = hintOf(asked)
  const about = (
    <>
      {hint === '' ? null : (
        <small id={`${id}-hint`}>
          <Described text={hint} />
        </small>
      )}
      {error === undefined ? null : (
        <strong id={`${id}-error`} class="error">
          {error}
        </strong>
      )}
    </>
  )
  const label = (
    <>
      {labelOf(props.name)}
      {props.isRequired ? (
        <span class="needed" title={t('required')}>
          {' '}
          *
        </span>
      ) : null}
    </>
  )
  if (isGroup)
    return (
      <fieldset class="group">
        <legend>{label}</legend>
        {about}
        <Input {...props} asked={asked} known={known} id={id} hasError={error !== undefined} />
      </fieldset>
    )
  return (
    <div class={asked.how.kind === 'switch' ? 'field switch' : 'field'}>
      <label for={id}>{label}</label>
      <Input {...props} asked={asked} known={known} id={id} hasError={error !== undefined} />
      {about}
    </div>
  )
}

function hintOf({ schema: { description = '' } }: Asked): string {
  // Describes an empty field in JSON only.
  return description === 'Record id.' ? '' : description.replace(/ ?null: (?:as if never chosen|none)\.$/, '')
}

interface InputProps extends FieldProps {
  readonly asked: Asked
  readonly known: Api
  readonly id: string
  readonly hasError: boolean
}

function Input(props: InputProps) {
  const { asked, value, onChange, id, hasError, isRequired } = props
  const { how, schema, isNullable } = asked
  const common = {
    id,
    'aria-invalid': hasError,
    'aria-required': isRequired,
    'aria-describedby': `${id}-hint ${id}-error`,
  } as const
  const began = useRef(value)
  const usual = shownValue(schema.default)
  const nothing = isNullable ? null : undefined
  // A field that never had a value is left out; one that is emptied is sent empty, and the API decides whether it may
  // be.
  const emptied = began.current === undefined || isNullable ? nothing : ''
  const typed = ({ currentTarget: { value: text } }: { readonly currentTarget: { readonly value: string } }) =>
    onChange(text === '' ? emptied : text)
  switch (how.kind) {
    case 'switch':
      return (
        <input
          {...common}
          type="checkbox"
          role="switch"
          checked={(value ?? schema.default) === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      )
    case 'choice':
      return (
        <select
          {...common}
          value={shownValue(value)}
          onChange={(event) =>
            onChange(how.values.find((one) => shownValue(one) === event.currentTarget.value) ?? nothing)
          }
        >
          {isRequired && value !== undefined ? null : (
            <option value="">{usual === '' ? '–' : t('{value} (default)', { value: usual })}</option>
          )}
          {how.values.map((one) => (
            <option key={shownValue(one)} value={shownValue(one)}>
              {shownValue(one)}
            </option>
          ))}
        </select>
      )
    case 'number':
      return (
        <NumberInput
          {...common}
          min={schema.minimum}
          max={schema.maximum}
          placeholder={usual}
          value={value}
          onChange={(next) => onChange(next ?? nothing)}
        />
      )
    case 'text':
      return (
        <input
          {...common}
          type="text"
          autocomplete="off"
          spellcheck={false}
          placeholder={usual}
          value={shownValue(value)}
          onInput={typed}
          onChange={({ currentTarget }) => {
            const meant = asMeant(schema, currentTarget.value)
            if (meant !== currentTarget.value) typed({ currentTarget: { value: meant } })
          }}
        />
      )
    case 'secret':
      return <input {...common} type="password" autocomplete="new-password" value={shownValue(value)} onInput={typed} />
    case 'long':
      return <textarea {...common} rows={6} spellcheck={false} value={shownValue(value)} onInput={typed} />
    case 'record':
      return (
        <RecordChoice
          {...common}
          sections={how.sections}
          value={value}
          onChange={(next) => onChange(next === '' ? nothing : next)}
          isRequired={isRequired}
        />
      )
    case 'list':
      return <List {...props} items={how.items} />
    case 'fields':
      return (
        <Fields
          schema={schema}
          path={props.path}
          value={(value ?? {}) as Values}
          errors={props.errors}
          onChange={onChange}
        />
      )
    case 'forms':
      return <Forms {...props} forms={how.forms} />
    default:
      return <JsonField {...common} value={value} onChange={onChange} />
  }
}

const movedUp = <T,>(list: readonly T[], at: number): readonly T[] =>
  list.toSpliced(at - 1, 2, ...list.slice(at - 1, at + 1).toReversed())

/** A button that disappears or moves with its entry loses the focus, which keyboard users need: this restores it. */
function useKeptFocus() {
  const list = useRef<HTMLDivElement>(null)
  const pressed = useRef<Element | null>(null)
  useLayoutEffect(() => {
    const button = pressed.current
    pressed.current = null
    if (!(button instanceof HTMLElement) || document.activeElement !== document.body) return
    const add = list.current?.querySelector<HTMLElement>(':scope > button')
    if (button.isConnected) button.focus()
    else add?.focus()
  })
  const onClick = () => (pressed.current = document.activeElement)
  return { list, onClick }
}

function List({ name, path, value, errors, onChange, items, known }: InputProps & { readonly items: Schema }) {
  const list = Array.isArray(value) ? (value as readonly unknown[]) : []
  // An entry keeps its key, and so its unsaved input, wherever it moves.
  const keys = useRef<readonly number[]>([])
  const last = useRef(0)
  const focus = useKeptFocus()
  keys.current = list.map((_, at) => keys.current[at] ?? (last.current += 1))
  const replaced = (at: number, next: unknown) => onChange(list.with(at, next))
  const { how } = askedOf(items, name, known)
  const isObject = how.kind === 'fields' || how.kind === 'forms'
  const remove = (at: number) => {
    keys.current = keys.current.toSpliced(at, 1)
    onChange(list.toSpliced(at, 1))
  }
  const moveUp = (at: number) => {
    keys.current = movedUp(keys.current, at)
    onChange(movedUp(list, at))
  }
  return (
    <div ref={focus.list} class="list">
      {list.map((one, at) => (
        <div key={keys.current[at]} class={isObject ? 'entry object' : 'entry'}>
          <Field
            name={`${labelOf(name)} ${at + 1}`}
            schema={items}
            path={`${path}.${at}`}
            value={one}
            isRequired
            errors={errors}
            onChange={(next) => replaced(at, next ?? (isObject ? {} : ''))}
          />
          <span class="entry-actions" onClickCapture={focus.onClick}>
            {at === 0 ? null : (
              <Button kind="quiet" aria-label={t('Move up')} onClick={() => moveUp(at)}>
                ↑
              </Button>
            )}
            <Button kind="quiet" icon="trash" aria-label={t('Remove')} onClick={() => remove(at)} />
          </span>
        </div>
      ))}
      <Button icon="plus" kind="quiet" onClick={() => onChange([...list, isObject ? {} : ''])}>
        {t('Add')}
      </Button>
    </div>
  )
}

function Forms({ path, value, errors, onChange, forms, id }: InputProps & { readonly forms: readonly Schema[] }) {
  const mark = markOf(forms)
  const values = (value ?? {}) as Values
  const chosen = mark === undefined ? forms[0] : forms.find((form) => markedAs(form, mark) === values[mark])
  return (
    <div class="fields">
      {mark === undefined ? null : (
        <div class="field">
          <label for={`${id}-form`}>{labelOf(mark)}</label>
          <select
            id={`${id}-form`}
            value={shownValue(values[mark])}
            onChange={(event) => onChange({ [mark]: event.currentTarget.value })}
          >
            {chosen === undefined ? <option value="">–</option> : null}
            {forms.map((form) => (
              <option key={shownValue(markedAs(form, mark))} value={shownValue(markedAs(form, mark))}>
                {shownValue(markedAs(form, mark))}
              </option>
            ))}
          </select>
        </div>
      )}
      {chosen === undefined ? null : (
        <Fields
          key={mark === undefined ? undefined : shownValue(values[mark])}
          schema={chosen}
          path={path}
          value={values}
          errors={errors}
          onChange={onChange}
        />
      )}
    </div>
  )
}
