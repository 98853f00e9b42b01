import type { ComponentChildren } from 'preact'
import type { Right } from '../core/rights.ts'
import { t } from '../core/text.ts'
import { Button } from './basic.tsx'
import { removeRecord } from './toast.tsx'

interface RowProps {
  readonly id: string
  readonly name: string
  readonly edits: Right
  readonly removes: Right & `DELETE /${string}/{id}`
  /** Usually "Edit NAME". */
  readonly label?: string
  readonly onEdit: () => void
  /** Other buttons, before these. */
  readonly children?: ComponentChildren
}

/** Of a row of a list: its form, and its end with the next apply. */
export const RowButtons = ({ id, name, edits, removes, label, onEdit, children }: RowProps) => (
  <span class="row-actions">
    {children}
    <Button kind="quiet" icon="edit" needs={edits} aria-label={label ?? t('Edit {name}', { name })} onClick={onEdit} />
    <Button
      kind="quiet"
      icon="trash"
      needs={removes}
      aria-label={t('Delete {name}', { name })}
      onClick={() => void removeRecord(removes.replace('DELETE ', '').replace('{id}', id), name)}
    />
  </span>
)
