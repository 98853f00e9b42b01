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

/** A record by its name. */
export function RecordChoice({ sections, value, onChange, isRequired, ...more }: RecordChoiceProps) {
  const lists = sections.map((one) => useRecords<Referred>(placeOf(one)))
  const records = lists.flatMap((one) => one.records ?? [])
  const { isKnown: isWhole, problem } = together(lists)
  // A list that has not come, or is refused, is no empty one.
  const nothing = isWhole ? '–' : (problem ?? t('Loading …'))
  const now = shownValue(value)
  const isKnown = now === '' || records.some(({ id }) => id === now)
  return (
    <select {...more} value={now} onChange={(event) => onChange(event.currentTarget.value)}>
      {isRequired && now !== '' ? null : <option value="">{nothing}</option>}
      {isKnown ? null : <option value={now}>{now}</option>}
      {records.map(({ id, name, email, ip }) => (
        <option key={id} value={id}>
          {name ?? email ?? ip ?? id}
        </option>
      ))}
    </select>
  )
}
