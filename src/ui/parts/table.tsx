import { useSignal } from '@preact/signals'
import { Component, type ComponentChildren } from 'preact'
import { useCallback, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { comparisonFor, sortable } from '../core/formats.ts'
import { t } from '../core/text.ts'
import { useFigures } from '../core/wanted.ts'

export interface Column<T> {
  readonly id: string
  readonly title: string
  readonly cell: (row: T) => ComponentChildren
  /** Returns the sort key; a column without this cannot be sorted. */
  readonly by?: (row: T) => string | number
  readonly isNumber?: boolean
  /** Initially sorts the highest first. */
  readonly isDescending?: boolean
  /** In a long table, gets more room because its texts are longer. */
  readonly isWide?: boolean
  /** Has paths of requests, which keep room for two lines even on a narrow screen. */
  readonly isPath?: boolean
  /** Left out on a narrow screen. */
  readonly isMinor?: boolean
  /** Whether a row's text fits into a column of a wide screen: cells that need no clipping are drawn faster. */
  readonly isShort?: (row: T) => boolean
}

const classOf = <T,>({ isNumber, isMinor, isWide, isPath, isShort }: Column<T>, row?: T): string | undefined => {
  const names = [
    ...(isNumber === true ? ['number'] : []),
    ...(isMinor === true ? ['minor'] : []),
    ...(isWide === true ? ['wide'] : []),
    ...(isPath === true ? ['path'] : []),
    ...(row !== undefined && isShort?.(row) === true ? ['short'] : []),
  ]
  return names.length === 0 ? undefined : names.join(' ')
}

/** Roles for a long table, whose rows are laid out separately, so that browsers no longer treat it as a table. */
const rolesOf =
  (isLong: boolean) =>
  <Role extends string>(role: Role): Role | undefined =>
    isLong ? role : undefined

/** Returns the index of the row that contains the target. */
const placeAround = (target: EventTarget | null): number =>
  Number(target instanceof Element ? target.closest('tr')?.ariaRowIndex : undefined) - 1 - HEADS

interface TableProps<T> {
  readonly label: string
  readonly rows: readonly T[]
  readonly columns: readonly Column<T>[]
  readonly keyOf: (row: T) => string
  readonly hrefOf?: (row: T) => string
  /** Keys of the ticked rows; undefined if rows cannot be ticked. */
  readonly ticked?: ReadonlySet<string>
  readonly onTick?: (keys: ReadonlySet<string>) => void
  /** Whether keys are ids and cells have figures: those of the drawn rows are followed. */
  readonly hasFigures?: boolean
}

const ROW_PX = 40
/** Number of title rows, which count when rows are numbered. */
const HEADS = 1
/** Shorter tables are drawn whole. */
const WHOLE = 120
const AROUND = 8
const STEP = 8

const windowRows = (): number => Math.ceil(innerHeight / ROW_PX) + 2 * AROUND

/** Returns the indexes of the rows in sight, and of the focused row with its neighbours, where Tab goes. */
function placesOf([from, to]: readonly [number, number], focused: number, count: number): readonly number[] {
  const beside = focused < 0 ? [] : [focused - 1, focused, focused + 1]
  const inSight = Array.from({ length: to - from }, (_, n) => from + n)
  const all = [...new Set([...beside, ...inSight])]
  return all.filter((at) => at >= 0 && at < count).toSorted((a, b) => a - b)
}

/** A table that sorts and ticks, and that draws only the visible ones of thousands of rows. */
export function Table<T>({ label, rows, columns, keyOf, hrefOf, ticked, onTick, hasFigures }: TableProps<T>) {
  const sort = useSignal<readonly [string, 1 | -1]>([columns[0]?.id ?? '', columns[0]?.isDescending === true ? -1 : 1])
  const place = useSignal<readonly [number, number]>([0, windowRows()])
  const body = useRef<HTMLDivElement>(null)
  const [by, direction] = sort.value
  const sorted = useMemo(
    () => sortedBy(rows, columns.find(({ id }) => id === by)?.by, direction),
    [rows, by, direction],
  )
  useLayoutEffect(() => {
    const look = () => {
      const box = body.current
      if (box === null || sorted.length <= WHOLE) return
      const above = Math.max(0, -box.getBoundingClientRect().top)
      // Rows are redrawn when half of the margin is used up, and not with each row scrolled.
      const first = Math.max(0, Math.floor(above / ROW_PX / STEP) * STEP - AROUND)
      const [before] = place.value
      if (first !== before) place.value = [first, first + windowRows()]
    }
    look()
    addEventListener('scroll', look, { passive: true })
    return () => removeEventListener('scroll', look)
  }, [sorted.length])
  const isLong = sorted.length > WHOLE
  // A user who scrolls back finds the focus where it was, and the focused row still receives keys.
  const focused = useRef<T>(undefined)
  const held = focused.current === undefined ? undefined : keyOf(focused.current)
  const focusedAt = held === undefined ? -1 : sorted.findIndex((row) => keyOf(row) === held)
  const places = isLong ? placesOf(place.value, focusedAt, sorted.length) : [...sorted.keys()]
  const shown = places.flatMap((at, n) =>
    sorted.slice(at, at + 1).map((row) => ({ row, at, key: keyOf(row), gap: at - (places[n - 1] ?? -1) - 1 })),
  )
  // Called in the table: in a component that shows the table, each new row would render all rows again.
  useFigures(hasFigures === true ? shown.map(({ key }) => key) : [])
  const tick = (keys: readonly string[], isOn: boolean) => {
    const next = new Set(ticked)
    for (const key of keys) {
      if (isOn) next.add(key)
      else next.delete(key)
    }
    onTick?.(next)
  }
  // Rows keep the first callback they got, so it reads the ticked rows when it is called.
  const now = useRef(tick)
  now.current = tick
  const tickOne = useCallback((key: string, isOn: boolean) => now.current([key], isOn), [])
  const role = rolesOf(isLong)
  return (
    <div class="table-box" ref={body}>
      <table
        class={isLong ? 'long' : undefined}
        role={role('table')}
        aria-label={label}
        aria-rowcount={sorted.length + HEADS}
      >
        <thead role={role('rowgroup')}>
          <tr role={role('row')} aria-rowindex={isLong ? HEADS : undefined}>
            {ticked === undefined ? null : (
              <th class="tick" role={role('columnheader')}>
                <input
                  type="checkbox"
                  aria-label={t('All')}
                  checked={sorted.length > 0 && sorted.every((row) => ticked.has(keyOf(row)))}
                  onChange={(event) => tick(sorted.map(keyOf), event.currentTarget.checked)}
                />
              </th>
            )}
            {columns.map((column) => (
              <Head
                key={column.id}
                column={column}
                role={role('columnheader')}
                sort={sort.value}
                onSort={(next) => (sort.value = next)}
              />
            ))}
          </tr>
        </thead>
        <tbody
          role={role('rowgroup')}
          style={isLong ? { height: `${sorted.length * ROW_PX}px` } : {}}
          onFocusIn={({ target }) => (focused.current = sorted[placeAround(target)])}
          onFocusOut={() => (focused.current = undefined)}
        >
          {shown.flatMap(({ row, at, key, gap }) => [
            ...(isLong && gap > 0 ? [<Gap key={`before ${key}`} rows={gap} />] : []),
            <Row
              key={key}
              row={row}
              id={key}
              at={isLong ? at : undefined}
              columns={columns}
              href={hrefOf?.(row)}
              isTicked={ticked?.has(key)}
              onTick={tickOne}
            />,
          ])}
        </tbody>
      </table>
      {isLong ? <p class="hint">{t('{count:row|rows}', { count: sorted.length })}</p> : null}
    </div>
  )
}

interface RowProps<T> {
  readonly row: T
  readonly id: string
  /** Index in a long table; undefined in one that is drawn whole. */
  readonly at: number | undefined
  readonly columns: readonly Column<T>[]
  readonly href: string | undefined
  /** Undefined if rows cannot be ticked. */
  readonly isTicked: boolean | undefined
  readonly onTick: (key: string, isOn: boolean) => void
}

/** Skips rows that are unchanged, so that scrolling renders only new rows; `columns` counts as a change. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: Readonly<RowProps<T>>): boolean {
    const { row, at, columns, isTicked } = this.props
    return next.row !== row || next.at !== at || next.columns !== columns || next.isTicked !== isTicked
  }

  override render({ row, id: key, at, columns, href, isTicked, onTick }: RowProps<T>) {
    const role = rolesOf(at !== undefined)
    return (
      <tr
        class={isTicked === true ? 'ticked' : undefined}
        role={role('row')}
        aria-rowindex={at === undefined ? undefined : at + 1 + HEADS}
      >
        {isTicked === undefined ? null : (
          <td class="tick" role={role('cell')}>
            <input
              type="checkbox"
              aria-label={t('Select')}
              checked={isTicked}
              onChange={(event) => onTick(key, event.currentTarget.checked)}
            />
          </td>
        )}
        {columns.map((column, n) => (
          <td key={column.id} class={classOf(column, row)} role={role('cell')} data-title={column.title}>
            {n === 0 && href !== undefined ? <a href={href}>{column.cell(row)}</a> : column.cell(row)}
          </td>
        ))}
      </tr>
    )
  }
}

function sortedBy<T>(rows: readonly T[], by: Column<T>['by'], direction: 1 | -1): readonly T[] {
  if (by === undefined) return rows
  const keyed = rows.map((row) => {
    const key = by(row)
    return { key: typeof key === 'number' ? key : sortable(key), row }
  })
  const compare = comparisonFor(keyed.map(({ key }) => String(key)))
  return keyed
    .toSorted(
      ({ key: a }, { key: b }) =>
        direction * (typeof a === 'number' && typeof b === 'number' ? a - b : compare(String(a), String(b))),
    )
    .map(({ row }) => row)
}

function Head<T>({
  column,
  role,
  sort: [sorted, direction],
  onSort,
}: {
  readonly column: Column<T>
  readonly role: 'columnheader' | undefined
  readonly sort: readonly [string, 1 | -1]
  readonly onSort: (next: readonly [string, 1 | -1]) => void
}) {
  const { id, title, by } = column
  const isSorted = id === sorted
  const order = isSorted ? (direction === 1 ? 'ascending' : 'descending') : undefined
  return (
    <th class={classOf(column)} role={role} aria-sort={by === undefined ? undefined : (order ?? 'none')}>
      {by === undefined ? (
        title
      ) : (
        <button type="button" onClick={() => onSort([id, isSorted && direction === 1 ? -1 : 1])}>
          {title}
          <span class="order" aria-hidden="true">
            {isSorted ? (direction === 1 ? '▲' : '▼') : ''}
          </span>
        </button>
      )}
    </th>
  )
}

/**
 * The space of rows that are not drawn. Positioning each row by its own style would do the same, but a browser then
 * computes the styles inside such a row separately, which takes three times as long.
 */
const Gap = ({ rows }: { readonly rows: number }) => <tr aria-hidden="true" style={{ height: `${rows * ROW_PX}px` }} />
