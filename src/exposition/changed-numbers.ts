/** The numbers of one metric that may have changed since the last document, in the order of their objects. */
export class ChangedNumbers {
  count = 0
  readonly objects: Uint32Array
  /** Where the digits of each number are, and how many; none if the object has no number now. */
  bytes: Uint8Array
  readonly starts: Uint32Array
  readonly lengths: Uint8Array

  /** Each object occurs at most once. */
  constructor(objects: number, bytes: Uint8Array) {
    this.objects = new Uint32Array(objects)
    this.bytes = bytes
    this.starts = new Uint32Array(objects)
    this.lengths = new Uint8Array(objects)
  }

  add(object: number, from: number, to: number): void {
    const number = this.count++
    this.objects[number] = object
    this.starts[number] = from
    this.lengths[number] = to - from
  }
}
