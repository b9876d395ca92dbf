/* undefine.h - forgets the words of events.def, so that the next inclusion can give them new meanings. */
#undef ENUM
#undef V
#undef EVENT
#undef U8
#undef U16
#undef U32
#undef U64
#undef I32
#undef STR
#undef E8
#undef SEQ64
