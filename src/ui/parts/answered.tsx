import type { ComponentChildren } from 'preact'
import { Loading, Problem } from './basic.tsx'

interface AnsweredProps<T> {
  readonly of: T | undefined
  readonly problem: string | undefined
}

/**
 * Shows the contents of an answer. Until it arrives, or if it is refused, the component must not claim that there is
 * nothing.
 */
export const Answered = <T,>({
  of,
  problem,
  children,
}: AnsweredProps<T> & { readonly children: (answer: T) => ComponentChildren }) => (
  <>
    <Problem text={problem} />
    {of !== undefined ? children(of) : problem === undefined ? <Loading /> : null}
  </>
)

/** Shows a short list, or `empty`. */
export const Rows = <T extends { readonly id: string }>({
  empty = null,
  children,
  ...list
}: AnsweredProps<readonly T[]> & {
  readonly empty?: ComponentChildren
  readonly children: (one: T) => ComponentChildren
}) => (
  <Answered {...list}>
    {(all) =>
      all.length === 0 ? (
        empty
      ) : (
        <ul class="plain rows">
          {all.map((one) => (
            <li key={one.id}>{children(one)}</li>
          ))}
        </ul>
      )
    }
  </Answered>
)
