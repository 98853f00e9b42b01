import type { Signal } from '@preact/signals'
import type { ComponentChildren, ComponentProps } from 'preact'
import { useEffect } from 'preact/hooks'
import { may, type Right } from '../core/rights.ts'
import { brief, moment, t } from '../core/text.ts'
import { Icon, type IconName } from './icon.tsx'

/** Small components that every screen uses. */

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'idle'

/** A state as a word, with a sign in addition to the colour. */
export const Badge = ({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** A text of the API's description, in which code is between backticks. */
export const Described = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, at) => (at % 2 === 1 ? <code key={at}>{part}</code> : part))}</>
)

/** A time in a table; on a narrow screen without year and seconds. */
export const When = ({ at }: { readonly at: string }) => (
  <time dateTime={at}>
    <span class="minor">{moment(at)}</span>
    <span class="brief">{brief(at)}</span>
  </time>
)

type Given = Pick<
  ComponentProps<'button'>,
  'aria-label' | 'aria-pressed' | 'aria-expanded' | 'class' | 'disabled' | 'onClick' | 'children'
>
interface ButtonProps extends Given {
  readonly type?: 'button' | 'submit'
  readonly kind?: 'main' | 'plain' | 'danger' | 'quiet'
  readonly icon?: IconName
  readonly isBusy?: boolean
  /** The button is shown to users with one of these rights. */
  readonly needs?: Right | readonly Right[]
}

export function Button({
  kind = 'plain',
  icon,
  isBusy = false,
  children,
  disabled,
  type = 'button',
  class: more = '',
  needs = [],
  onClick,
  ...rest
}: ButtonProps) {
  if (needs.length > 0 && !may(...[needs].flat())) return null
  return (
    <button
      {...rest}
      type={type}
      onClick={(event) => {
        // What needs a right is not done twice because somebody clicks twice.
        if (needs.length === 0 || event.detail < 2) onClick?.(event)
      }}
      class={`button ${kind} ${typeof more === 'string' ? more : ''}`}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children === undefined ? null : <span>{children}</span>}
    </button>
  )
}

interface PageHeadProps {
  readonly title: string
  readonly hint?: ComponentChildren
  readonly children?: ComponentChildren
}

export function PageHead({ title, hint, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${title} · Fulcrum`
  }, [title])
  return (
    <header class="page-head">
      <div>
        <h1>
          <bdi>{title}</bdi>
        </h1>
        {hint === undefined ? null : <p class="hint">{hint}</p>}
      </div>
      <div class="actions">{children}</div>
    </header>
  )
}

export const Card = ({
  title,
  more,
  children,
}: {
  readonly title?: string
  readonly more?: ComponentChildren
  readonly children: ComponentChildren
}) => (
  <section class="card">
    {title === undefined ? null : (
      <header class="card-head">
        <h2>{title}</h2>
        {more === undefined ? null : <div class="card-actions">{more}</div>}
      </header>
    )}
    {children}
  </section>
)

/** A figure with its name, and its meaning below. */
export const Tile = ({
  title,
  value,
  more,
}: {
  readonly title: string
  readonly value: ComponentChildren
  readonly more?: string | undefined
}) => (
  <div class="tile">
    <span class="tile-title">{title}</span>
    <span class="tile-value">{value}</span>
    {more === undefined ? null : <span class="hint">{more}</span>}
  </div>
)

export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children}
  </div>
)

export const Loading = () => (
  <p class="loading" role="status">
    {t('Loading …')}
  </p>
)

export const Problem = ({ text }: { readonly text: string | undefined }) =>
  text === undefined ? null : (
    <p class="problem" role="alert">
      <Icon name="alert" /> {text}
    </p>
  )

interface PasswordProps {
  readonly label: string
  readonly value: Signal<string>
  readonly name?: string
  readonly isNew?: boolean
  readonly errors?: readonly string[]
}

export const PasswordField = ({ label, value, name, isNew = false, errors = [] }: PasswordProps) => (
  <label class="field">
    {label}
    <input
      type="password"
      name={name}
      autocomplete={isNew ? 'new-password' : 'current-password'}
      required
      aria-invalid={errors.length > 0}
      value={value.value}
      onInput={(event) => (value.value = event.currentTarget.value)}
    />
    {errors.map((message) => (
      <strong key={message} class="error">
        {message}
      </strong>
    ))}
  </label>
)

/** A choice between a few options, side by side. */
export function Choice<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string
  readonly value: T
  readonly options: readonly (readonly [T, string])[]
  readonly onChange: (value: T) => void
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([one, text]) => (
        <button key={one} type="button" aria-pressed={one === value} onClick={() => onChange(one)}>
          {text}
        </button>
      ))}
    </div>
  )
}
