#!/usr/bin/python
# vim: set fileencoding=latin-1 :
naïve = 'é' + "ü"  # ñ
if naïve: print('ß', f'{naïve + "ø"}')
else: größe = [naïve, 'é']
