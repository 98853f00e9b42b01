import { effect, signal, untracked } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { Button } from './basic.tsx'
import { ask } from '../core/api.ts'
import { changed } from '../core/live.ts'
import { rightsChanged } from '../core/rights.ts'
import { whenForgotten } from '../core/session.ts'
import { t } from '../core/text.ts'
import { problemIn } from './doing.ts'

interface Toast {
  readonly id: number
  readonly tone: 'good' | 'bad'
  readonly text: string
}

const SHOWN_MS = 6_000
const AGAIN_MS = 1_000
const toasts = signal<readonly Toast[]>([])
let next = 1

const remove = (id: number): void => {
  toasts.value = toasts.value.filter((one) => one.id !== id)
}

/** Tells what came of something; what went wrong stays until it is closed. */
export function say(text: string, tone: Toast['tone'] = 'good'): void {
  const id = next++
  toasts.value = [...toasts.value.slice(-3), { id, tone, text }]
  if (tone === 'good') setTimeout(() => fade(id), SHOWN_MS)
}

/** In a dialog everything below would move, under the pointer of a user who is about to press it. */
function fade(id: number): void {
  if (dialogs.peek().length === 0) remove(id)
  else setTimeout(() => fade(id), AGAIN_MS)
}

export const sayProblem = (error: unknown): void => say(problemIn(error), 'bad')

whenForgotten(() => (toasts.value = []))

effect(() => {
  if (rightsChanged.value > 0) untracked(() => say(t('Your permissions have changed.')))
})

/** Does it, and tells how it went. */
export async function attempt(work: () => Promise<string | undefined>): Promise<boolean> {
  try {
    const text = await work()
    if (text !== undefined) say(text)
    return true
  } catch (error) {
    sayProblem(error)
    return false
  }
}

/** Asks first; what goes is staged as every change is. Answers whether it does. */
export async function removeRecord(path: string, name: string): Promise<boolean> {
  if (!confirm(t('Delete {name}? It is deleted by the next apply.', { name }))) return false
  const isDone = await attempt(async () => (await ask('DELETE', path, { body: {} })).message)
  await changed()
  return isDone
}

/** Dialogs that are open, the last one before the others: nobody reaches what is outside of it. */
const dialogs = signal<readonly object[]>([])

const Shown = ({ isHere }: { readonly isHere: boolean }) => (
  <div class="toasts" role="status" aria-live="polite">
    {isHere
      ? toasts.value.map(({ id, tone, text }) => (
          <div key={id} class={`toast ${tone}`}>
            <span>{text}</span>
            <Button kind="quiet" icon="close" aria-label={t('Close')} onClick={() => remove(id)} />
          </div>
        ))
      : null}
  </div>
)

/** Messages on the page, while no dialog is in front of it. */
export const Toasts = () => <Shown isHere={dialogs.value.length === 0} />

/** Messages in the dialog that it is part of. */
export function ToastsOfDialog() {
  const own = useRef({})
  useEffect(() => {
    dialogs.value = [...dialogs.peek(), own.current]
    return () => (dialogs.value = dialogs.peek().filter((one) => one !== own.current))
  }, [])
  return <Shown isHere={dialogs.value.at(-1) === own.current} />
}
