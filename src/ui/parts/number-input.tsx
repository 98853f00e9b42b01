import { useLayoutEffect, useRef } from 'preact/hooks'
import { shownValue } from '../core/merge.ts'

const numberIn = (text: string): number | undefined => (text === '' ? undefined : Number(text))

/** Keeps the text that was typed: on the way to 0.5 it is 0, or no number, and must not be overwritten. */
export function NumberInput({
  value,
  onChange,
  ...more
}: {
  readonly id: string
  readonly min: number | undefined
  readonly max: number | undefined
  readonly placeholder: string
  readonly value: unknown
  readonly onChange: (value: number | undefined) => void
}) {
  const input = useRef<HTMLInputElement>(null)
  useLayoutEffect(() => {
    const { current } = input
    if (current !== null && shownValue(numberIn(current.value)) !== shownValue(value)) current.value = shownValue(value)
  })
  return (
    <input
      {...more}
      ref={input}
      type="number"
      inputMode="decimal"
      step="any"
      onInput={({ currentTarget }) => onChange(numberIn(currentTarget.value))}
    />
  )
}
