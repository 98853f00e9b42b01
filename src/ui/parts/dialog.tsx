import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { isLocked } from '../core/api.ts'
import { t } from '../core/text.ts'
import { mayLeave, Scope, useUnsaved } from '../core/unsaved.ts'
import { Button } from './basic.tsx'
import { ToastsOfDialog } from './toast.tsx'

/** Opens a dialog. The login after the end of a session covers it, whichever of the two is opened last. */
function open(dialog: HTMLDialogElement): void {
  dialog.showModal()
  const lock = document.querySelector<HTMLDialogElement>('dialog.locked')
  if (lock === null || lock === dialog || !lock.open) return
  lock.close()
  lock.showModal()
}

/** A browser does not let a page prevent a second Escape. */
export function stayOpen({ currentTarget }: { readonly currentTarget: HTMLDialogElement }): void {
  if (currentTarget.isConnected && !currentTarget.open) open(currentTarget)
}

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Whether it contains unsaved input, so that closing asks first. */
  readonly isUnsaved?: boolean
  readonly isWide?: boolean
  /** Wide enough for two columns. */
  readonly isWidest?: boolean
  readonly children: ComponentChildren
  readonly foot?: ComponentChildren
}

/** Escape and the cross close it; the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  isUnsaved = false,
  isWide = false,
  isWidest = false,
  children,
  foot,
}: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const own = useRef({}).current
  useUnsaved(isUnsaved, undefined, own)
  const leave = () => {
    if (mayLeave(own)) onClose()
  }
  useEffect(() => {
    const before = document.activeElement
    if (dialog.current !== null) open(dialog.current)
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
        if (!isLocked.value) leave()
      }}
      onClose={stayOpen}
    >
      <header class="dialog-head">
        <h2>
          <bdi>{title}</bdi>
        </h2>
        <Button kind="quiet" icon="close" aria-label={t('Close')} onClick={leave} />
      </header>
      <ToastsOfDialog />
      <Scope.Provider value={own}>
        <div class="dialog-body">{children}</div>
      </Scope.Provider>
      {foot === undefined ? null : <footer class="dialog-foot">{foot}</footer>}
    </dialog>
  )
}
