import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../core/text.ts'
import { useUnsaved } from '../core/unsaved.ts'

function isJson(text: string): boolean {
  try {
    if (text.trim() !== '') JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/**
 * An input for values without a form: JSON, which is parsed when the field is left. Invalid JSON prevents submission.
 */
export function JsonField({
  value,
  onChange,
  'aria-invalid': isRefused = false,
  ...more
}: {
  readonly id: string
  readonly 'aria-invalid'?: boolean
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}) {
  const input = useRef<HTMLTextAreaElement>(null)
  const written = value === undefined ? '' : JSON.stringify(value, null, 2)
  const typed = useSignal({ over: written, text: written })
  const isLeft = useSignal(false)
  // A new value from outside takes precedence over what was typed over the previous one.
  const text = typed.value.over === written ? typed.value.text : written
  useUnsaved(text !== written)
  const problem = isJson(text) ? '' : t('This is not valid JSON')
  const isWrong = problem !== '' && isLeft.value
  useEffect(() => input.current?.setCustomValidity(problem), [problem])
  return (
    <>
      <textarea
        {...more}
        aria-invalid={isRefused || isWrong}
        ref={input}
        class="code"
        rows={4}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => (typed.value = { over: written, text: currentTarget.value })}
        onBlur={({ currentTarget: { value: now } }) => {
          isLeft.value = true
          if (now !== written && isJson(now)) onChange(now.trim() === '' ? undefined : JSON.parse(now))
        }}
      />
      {isWrong ? <strong class="error">{problem}</strong> : null}
    </>
  )
}
