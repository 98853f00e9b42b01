import { useSignal } from '@preact/signals'
import { shownValue } from '../core/merge.ts'
import { placeOf, type RecordLike, together, useRecords } from '../core/records.ts'
import { t } from '../core/text.ts'

interface Referred extends RecordLike {
  readonly email?: string
  readonly ip?: string
}

interface RecordChoiceProps {
  readonly id?: string
  readonly sections: readonly string[]
  readonly value: unknown
  readonly isRequired: boolean
  readonly onChange: (id: string) => void
}

/**
 * A backend of a hundred servers has as many of these fields: with thousands of records, each offers only its own until
 * it is opened.
 */
const MANY = 100

/** A choice of a record by its name. */
export function RecordChoice({ sections, value, onChange, isRequired, ...more }: RecordChoiceProps) {
  const lists = sections.map((one) => useRecords<Referred>(placeOf(one)))
  const records = lists.flatMap((one) => one.records ?? [])
  const { isKnown: isWhole, problem } = together(lists)
  // A list that has not arrived, or is refused, must not look empty.
  const nothing = isWhole ? '–' : (problem ?? t('Loading …'))
  const now = shownValue(value)
  const isKnown = now === '' || records.some(({ id }) => id === now)
  const isOpen = useSignal(false)
  const open = () => (isOpen.value = true)
  const offered = records.length <= MANY || isOpen.value ? records : records.filter(({ id }) => id === now)
  return (
    <select
      {...more}
      value={now}
      onFocus={open}
      onPointerDown={open}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {isRequired && now !== '' ? null : <option value="">{nothing}</option>}
      {isKnown ? null : <option value={now}>{now}</option>}
      {offered.map(({ id, name, email, ip }) => (
        <option key={id} value={id}>
          {name ?? email ?? ip ?? id}
        </option>
      ))}
    </select>
  )
}
