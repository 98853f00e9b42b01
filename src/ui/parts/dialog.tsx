import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../core/text.ts'
import { Button } from './basic.tsx'
import { ToastsOfDialog } from './toast.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly isWide?: boolean
  /** For two columns. */
  readonly isWidest?: boolean
  readonly children: ComponentChildren
  readonly foot?: ComponentChildren
}

/** Escape and the cross close it; the focus goes back to where it was. */
export function Dialog({ title, onClose, isWide = false, isWidest = false, children, foot }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const before = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      class={isWidest ? 'dialog widest' : isWide ? 'dialog wide' : 'dialog'}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header class="dialog-head">
        <h2>
          <bdi>{title}</bdi>
        </h2>
        <Button kind="quiet" icon="close" aria-label={t('Close')} onClick={onClose} />
      </header>
      <ToastsOfDialog />
      <div class="dialog-body">{children}</div>
      {foot === undefined ? null : <footer class="dialog-foot">{foot}</footer>}
    </dialog>
  )
}
