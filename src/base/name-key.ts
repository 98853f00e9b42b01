/** As names are compared: whatever their case, and whether a letter and its accent are sent as one character or two. */
export const nameKey = (name: string): string => name.toLowerCase().normalize('NFC')
