/** Texts about clocks and durations. */
export const germanOfTimes: Readonly<Record<string, string>> = {
  'Compare with last week': 'Mit der Vorwoche vergleichen',
  'one week earlier': 'eine Woche davor',
  hour: 'Stunde',
  yesterday: 'gestern',
  now: 'jetzt',
  week: 'Woche',
  expired: 'abgelaufen',
  '{count:day|days}': '{count:Tag|Tage}',
  '{seconds} s left': 'noch {seconds} s',
  '{count} days ago': 'vor {count} Tagen',
  '{count} h ago': 'vor {count} h',
  '{count} min ago': 'vor {count} min',
  '{count} s ago': 'vor {count} s',
  '{seconds} s': '{seconds} s',
  'The clock of this browser is off by {count:minute|minutes}.':
    'Die Uhr dieses Browsers geht um {count:Minute|Minuten} falsch.',
  'The clock of this browser is off by {count:hour|hours}.':
    'Die Uhr dieses Browsers geht um {count:Stunde|Stunden} falsch.',
  'Times are shown in the time of the node.': 'Zeiten sind in der Zeit des Knotens angegeben.',
}
