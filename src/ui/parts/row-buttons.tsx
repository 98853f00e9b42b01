import type { ComponentChildren } from 'preact'
import { t } from '../core/text.ts'
import { Button } from './basic.tsx'
import { removeRecord } from './toast.tsx'

interface RowProps {
  readonly id: string
  readonly name: string
  /** Path of one record: PUT changes it, DELETE removes it. */
  readonly path: `/${string}/{id}`
  /** Usually "Edit NAME". */
  readonly label?: string
  readonly onEdit: () => void
  /** Further buttons, before these. */
  readonly children?: ComponentChildren
}

/** Buttons of a row: edit the record, or delete it with the next apply. */
export const RowButtons = ({ id, name, path, label, onEdit, children }: RowProps) => (
  <span class="row-actions">
    {children}
    <Button
      kind="quiet"
      icon="edit"
      needs={`PUT ${path}`}
      aria-label={label ?? t('Edit {name}', { name })}
      onClick={onEdit}
    />
    <Button
      kind="quiet"
      icon="trash"
      needs={`DELETE ${path}`}
      aria-label={t('Delete {name}', { name })}
      onClick={() => void removeRecord(path.replace('{id}', id), name)}
    />
  </span>
)
