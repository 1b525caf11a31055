"""What DuckDB's full-text index makes of each character: written by `python -m tests.generated_folds`.

Python, DuckDB's `lower(strip_accents(…))` and its regular expressions each know another version of Unicode.
The table holds DuckDB 1.5.5's answers, so that a word has the same terms whichever Python reads.
"""

from __future__ import annotations

import base64
import bisect
import zlib
from functools import lru_cache

_PACKED = (
    'c-qBUdr)N6nZLht?(OC^FS?uY5p^^=@s&8yB*tVbWyVUj61O&1_LWp^r8e2x%|6miTiNZ~z4;@y3?ed!h=_=Y3?d>TA|et*L?kUDLBtjj5fKp?'
    '1`!bv5qp2<+-_tNHJjZ^_K#nmbI;>D-|L+Fedo4e91t0X``}52DPTaHWL&_~Ed=W@q%Ng_9-tTK1Nwm&FaR7>KTdTJ7&^XwkWXUkX&9t@5Zj+M'
    '0f7V%7046F7bp-Y6wp6TwMd}&__}%$TTdmLVQhca1X%46=oRP_=og3y45WSs1%?EM1x5r$1>!=C37DKSAuuU0B`_^8BQPs4ConItAh4MFT@qLp'
    'SP@tiSQA(mV#Ar75Qs|TN#siuNEAvGNfb+zNH_z^B`Tz-RF72>)e<!lwGwp_^->Q|Xp(4_Xpv}@Xp?A9P41HDmgte_mFSb`cV@7NNeoB~N(@O1'
    'OEDrbDiN0$lNgtnkeHNWN@7}K#+frGF)y(ou_&=5u`ID7u`019u`aP8v3dM&LW-z~JQMjQ3QQD|hPdk^hHrPOw@INo?f`C<xFywwI~4zSOWdhj'
    'By0Domix$!iCJ@t%0n_$2$8I;npiXOpr)%kA9iREZkKM@{yT1A!orY+VGI2hVivkB^jPS%(3ff%urQb!Bd}p%(?Y^R)Rh!mTTwqdeQOrhtz`Wv'
    'fhXxyuH<r6E>yeJPPh`~E>yVC=0dv*%_dq*6q_h9(c?ldhq%!1`owyd3*D)f?rmM$#|*kK<PyWqx{EF>xzs)pTdFH^qu7lCHwxWYqbTIwg-sU{'
    'E=1kPb0go46&F@r5Uv;QhMvQH@GPs2uIa3Yfg7+zaT|Wl10l=UDJ&iadY>745KQ&2sU}r1NXWoZZgAHR*!1`K5&nVYzYsx$@YguFhg;vh4_`qR'
    'vf)Jz&WAYhv)F-?u?LxK6H>x*tcyPYRs<;~cBx;HFXYegZ#V+{gg=u0cm(E;@B{ozwH-{q6bExeI^8ViVqC&m-_$D$^INza7yn^vLvj3Z?FQif'
    '1LgQXVIL|4DnGGbY(E55oAZ#8Kp%x-#A%2N@GKnHN1<~%riM9(=~m~~IqB3tIz9iCf*bhBe)=BWPMl+;;qz3yQocw6Mw&R84s05yAk(mf$U+9b'
    '%N_h(h%@2i8_(oqi0_@RWfZ%mc5%23o+|87G)%Eeudti#5U1i~KK&4xY}qN!LptA#>W#@xw&!p(*ak?#GP1>qknC4$pFqkkBOPhtT(FMQ#aUd@'
    't<F2b(lfHv+69omge`uGA49Vs$R=4MA&4|Ssg@kp-N{$8sTNN%%|1nls(@kIWPgiB7U9x@D76Sp&85WOPR$YDrGAALNeN*(R1L{zGADki_5M>8'
    '9b{<cVPtA@=}wHWMNY*GR+70il9C#Vg<V^MDP6gozTXjU`}{5847bv#t>cj`<+zOuXs#%d)I135qqxNpM`}<Es=}mLQuAXv-UDUL9mWn=<ie3+'
    'uTuKf>PU`u!-<51KJ!viq&ezKO7YSBjN>HOPQ#@+`^daX*;(|Sln&3)O<Qxgnx!<YG|m|wEvd6!HYGYCseQ$hTN}#MT2%&2<60S7dppDdb>fq%'
    'CEUs)Z2#PrhAiTQWIaQVOV{))BYB|d@#>u4$LGCT25)i=2kNBJM=3{|@_1zZm6FSZnxTx7$?{C@1{jx!{b~%n+$Ao-mmKR-?;vtYnN6_+S$gkf'
    'C~G}_<$eQ?UrBwaA0f`;Vna#>Q_Jq~uj=O{%hNxmZx_o;lJ(29SEW-HNqg@;GG$(o?b4e?ieqZP9vu!_;&L`*(&@9wM!N8DQYP!d$fDzDqv`sW'
    'u+LCCP#px&##QRyqs<8Y^h461cZxH#%Ua^wMus?zy~-`KSU+1UJyV=d8Ygjlrg4_otM;MzGUzHeMLU#3cZc5Vrx{<Q<EjJfx1r2&I`+^hrRE}?'
    'P9}MX?GRtZPI7xD4U)zlDZa>6(+zj@g7XX!y+9iJyx|dPaxIs32dTMz47ju>gx-+o3!y)RSO^0l42Hx|NDPNC62fQ*@esyB7!P40gvk)5LSj0E'
    'nGj|}m<wS(goO|mLs$x7IV4s>Vl^bzLRb%BBZSQm5+Ouw<k`r#QDBQg8$~vXQ@<rPN^O+cD7Qt0jY=C;HmYsZ*r>HpXN!6p4K^BWG}&mjMT?DA'
    '8*Mh)ZFJb^w9#dYZW}!|dTsRC=(iEGF<^^98$&jRQ@<lNMs37xjM*5sF=2~I8&fu>ZOqu1wJ~R7-o}EBMO!S{ShlfZW7Wo*jddFvw%D|hun`R-'
    'FO2*!3c@H1qbQ8xuqX+mG>o#aC=a6|jLI;o!l(|TCXCuJ>cXfGi-s^7!)OYN=CEi9qcx1SFxtcD2xBsgSQvd_^oD8a&i|l+s5M5fVMHUyiy%LO'
    'f(QyDD2kvsf|3YIBPffYJc5b{DkG?hpgMw@2x=p!i=aM&h6oxXXo{fu_<BnOtr4_E&>lfY1f3CdMbI5VPXxUY^hMBreEoNOV-XBQFc`s51j7-G'
    'L@*jbJc6+Z#v_=BU^0TK2&N;LiC{K@xd`Szu4N&D#R!%nSdL&Ng4GDtB3M7Zz7fG@1c?Zu|8-obP~%6fA9a4z`_bS>qaRIvH2cxwN2?!gezg11'
    ';YX(*U4C>QU+?jw*U#M?^JBn|K|hB481`dCwT=1__hZbDaX%*fnDk@Hk7++<{FwD)&X0LN7W`QBW66)@)bENPtA4EcvF^u)ADez8{D=mS7eIah'
    '1pyQWP!vG%$F&%uEP(O=DgvkspelfB)wcbqCV<)i>H?@|4;s}^v-)XOKkWgu1XQ&xpz0j~bOz8BKz9H=0rUpY7eIdiu>b}F7z|)2fJ6Y%Tx<le'
    '8945DC4kic76ModU@m}p#YaspYI9MSi~3wN<f1VbO}S{!MN2MPbJ3QI_FQ!2qB9p=x#<45mY!Vn=Athb{ke$cVjvfTxfsgDa4tqZna(H8O5`FM'
    'L|zd2K@<cje^C&{L6ihh8bnzT<v~;=n+?fYWe`>Bxh9C(AR2;bO#L>g5iLQq2GJHoJD)^X5Zyua1koErUl9FlGdqIl48rM&1u>B7aq5FX3<WX9'
    'f!1gcai@xjASQ!Y31T&fnIL9^m}B$LbvWeWsjFU%JB*8Py0OQ3w<N;`72;UzBZ;p6bkZ{<t_I5U;KWbzYbrWYZ*5Ch$-AB1XY3XpQ$-NZTjI}*'
    'zhuDmt|?A6j-~zNfH<J`%2ER`^mPn3q%y=5I+-(Wu(gL}x5^)NdO@Tm?uPhNM*e?9FtSNKL8qgJ6AA4%oENsLe^sZ$yP)E{bRAoK3K$Zo+qAd}'
    'KTj0tDl}7Jp*Be7$Go*a4Psl}r88!H!f#GBoG@NFk)Fb3|JcjzQNf>{L`A9C>_<97$q@UD0}QYB(Q8lDA@VL={~XK5gm~;C<5E%F4C6BK1u|Q#'
    'BK6N0-an>|8N>m43;i!CDCJy1-JZp;>C-%4{y%zhMyg(TxB2m&t~npM$@*xY|Bv}CEVocYR1kTDdKRcBtvJy{Jihby68SL-IBj_wdxqsC_71jM'
    'Ptc5I0Xhv*QK^oJp-w;-{p(ANY=yWG*{m}*W-9H{ak$Q-#D1vcaxZo;<~_wwNyP<>e|PG0)nfmNI_28Qt*of0CDSq&H@B0DT&Pnxm6GVpQl}%D'
    'CyvX6+RG{#%@D3+mhIYhD5zbqleB)Wli(EPJO7TX?BxOQMdQ%H<p(6Ho;0ZkiM9JB=BST`CJTL3;@GUfII;YpiIv+V3a_WC6DC?-GBJ3aiSpMa'
    '>INlR`X$;QWB(C}`bSKxwwTzsgL7^&(J?A9b-Tpq2Lf&PSQx(9LfgY83T`to%enc-1nQPdEZu3Mc}ODKBhfi-qIy!I^a+XXc@y>IFG`wIx0vXz'
    'l^DLu!cw(`x=IV<BW&w5(NB7ng(l`+<9bh%AJQ&umMFefqI^vtx+pMpHTn8bqU%kGg*fHCMIvuOV60Oj7PXLg!^FUfM9GZAKo!SEO%zi<^@S3%'
    '>>pjBOq6e~*+hbR>U~S1?HJcMOulcmP|A7B<g4s<3#%WnkLwI`oq;0q(;-p$qKWoy6FppS@Lu}fD&?GITLpDdLjEbwDAydKd>gN`z1c$N114sM'
    'O_VN6j8J#ghbS}U9DGiqs7qq;ArpBG67e<@3)EZ9ixN#^ChBf5QARt~++ksw{H*kuXndQteo12NSB_1}$@3=dTz!>==A$Mye?xiiqRq%dTM6|<'
    'o6S%^Ye%WODhow}CYorwG5SjTG3sE-MD5G8-6(C-NPnm`Q9+wmBqaJN`v`3@+sO5vl~}5$uT+v}r5n=fE3?p2N89zWk8-pvn3$x@qc4zNhl!C@'
    '&ZWHzDZ})277Es=2l`1Z$E;CbMdjq>4az+$u~99tejV4LojR{!+ugLqRrIktXcyY1b;iUz_1#xTSxIM;dLMj-_I;Fkub~{pl$(B9LLQgi5ZHLy'
    'MC<huo3~l08lYdss7u;m>R!_1+ViC*V)>j$ea`07zO@zxsE3YX`Z;a4{<ev6`s>6!)HnUN=~d1njmApS;+T2rpr(R)ARkq<ZNpRCGf$8&+OV7S'
    '3uwEEdGbyFFCn@pM=9kPr@dy$LoMfabAPo^2aCfJ)uh?+u0SJwyo>zC@26kA!twOM)(!d~b-Bv@(O*yhrtLSVi_!_&qK1A!bSzRf?&*nlBogZ;'
    'hRH|$5dE=<di^y)T_k$x+q8Klby!uZ4x+_t)S=t`8+Dj3(aXlUW2&gh&OBO(J8gleB#P<%J>;NoUcH;EpHaW@N7OrPf_^)Cr@AXxJ4BBp3W=3v'
    'fm&K(nNsER#3-+~FvwNo+*!560KKQ}Mhi1H@VSH%6j-PyFD<mJvhFB7q?s0<q1LOXX<>S2FHebCa+>%x+bG>QH8e;~wkr>$CP(OLtJkpa5Iv44'
    'CK8lmm6#`r@=Vc4k7}f6H^0x*g1fPXXypkovcNXVHZ@I8nBvYRN?(wu<*8Uf@9yiCTHd;cXvuboX?n#JcTf?v8mGrj@q}8OGjYw43^b93A<A3n'
    'Lq{n2ofhWk|5Gd%sDUZ^%?35l!M!tZle34ECi<`CSZZOFXTuoL&HdcAX=3_K`U25GyR|0w*UD==OVu8thT^QZQA@4VQrQGG#Pef=`)~C*6J6XN'
    'YxIF-Vw3x!ljmM%7d6|?G51kZ^zUV!gB#rUlRUc@i>P_-|7q^0#cGz+Xy?t;EPb@(MrxGkRA(G9e?8AYdP<z=Dd0NP>ID6C?mdY{ddfQY)!ZW6'
    'j#7Jk4;0Z?*LkKdP@^;45B<a{-xK-7G_m$5{gbF;y_n@9wY@@Zm*2-Wb^g%DYWUtLFQtWeuFcZ3Ch3(GM3kuG*|GMaz%1WI@3p7nC~@6u=~(!{'
    ';@L-i6GtaA@NPjS-Y>~Q)0+Yn+-t^uzGbr*OIw9;H{Z(>&$;zwXda*Pi2_3PbQ3*9Z`{qdGJh@o3;ip${aTA`T_a|RI3fPgI9)6VBU@a`m-knU'
    'v-J(~ZeurbslFdAfZ<7gK6i<ej7;%E9hHbJNaM4dr0x-+FK>m8fCb}%GsG{*{pX2GnA-{CN=7tSLj@^}3{-xhzF(ZlaN<-3)cYA~SgZ-Qm^zHM'
    'jB~$#wg@>v#rMzDV@+|kk){HoD>4mSv5TO<SEwa3^|Gnk^~*$uAmJRwEoqEpR914XzDWL7>Pvw*KY4YoQl7oUX*vx`<Cp_UIV^FyzNh>)QzBD%'
    '*?$3?yHHDA<tDGQPtljGDr!qN_Nv=X<^%h*0H1;SfMOZDsn`tiA}Fv$dV9&_72-R_#aH7ZV~4ni`PR9N+0|v`T|!ehSFfV3^)F{+rbNy`CRaRJ'
    '-_V|`5(t%?vG2>+MVp+eZ!wiz>Evv0GO5|QLq(IB23?2CoTxr(FnW~YOh$vyABglcQva;J&xNLV06V#osgnqy)e0?rrpRXfL}VGxohgiOY`b`N'
    'lutjQj<P7FTFLyx4<AT=0!V%MNPVcVR0L|MYkcNiMiD4pw$AS}w1OoQtOM{S@Ab95!1WXzrF-=?=L`<mqph0B?)~CC?9hMq$S}S_?F(v4ee*TR'
    'ODA1`kN<RVA1#oj8C6P1OEP(a{>q@3F`bZDUx8=P8Pv$n=|z*Djmh}Q{LK(&s}^NR{dEpB*%!Ev6f@a0cY)9!GS1Sma+>~Bbc*Bhpmu1J?`&yk'
    'KNpu<pZnax`P`>sYgcl_K3K_KD=FVYLU`2meKLes7x!l*6}f}mf2$Yt8Rv;x-NrwQT<*vxU_9*=KW6j&Y25MZGJKbD&uJoN8l9JkPLpI$Go0)A'
    '?<Gscth&HIK+5T~Ojhz66-e3Qwz=P;IxjZ<Ra~wO23$<<Gs(=Qj?wf7HNouUy$dMN^Xc^EbYt#Y+JRES*9me2<CNs5DCLc5;;=LhWs863B0H$i'
    'bS<&UOQz2R(`xKBZg)O>xv2a!?Lntf88@l#NWY--W)VN*7AS!D8!qwZ&R0O^LznY`U!P$}vhmI22b8qr^JkJiZYA%fRNHfEqDrn5PWwHj@|g<_'
    'zThvWUM|!QvXjWsR@`Mglg5$CxN+yh*d8rG(!P}W8^-Az9pqUm=?!juB&rLqUZJ)=O?f_*oMAjKdFH6f>y~EG+&YdS`jxEdq<YS`&rpt`cXftQ'
    ';Syg@9%QER7hFJ%e%zUQa&kJ7CuT;Hq?5tAlDBmqWwi3Q#{V`_eJNv`+vq9Ud(?-(q?Y#>PbjyUQ6I9eNfWOO2_CAy+Q(I2RwS<eJpH2eYevlp'
    '1r0uw5qU)4gc}1#d}yilp@Jy7!-wkIeVDHHA$FS&>%?Sn4jN)^<W>2wcB_vuuMh3S;-DMt?3-Y{l&Iiyl;wP-4^{P?$8w0+U`{u3iw_+{l;a00'
    'SSO}$CM}}oa1Of5edr<zh{>CLjHP^{k!7sRhfboASijMSIbt?h&J(2%yBRZkF<$CJE78>EMm5VaV&MiKy0529EEh{CV~O)zQA`?#xqcDlC-R7V'
    'V)8ojKr|Dj#KIvTiVHcH<wgN{Cdw#JY}1Rvt9|H+`cOiY=aJv5C@V4kp%)9qZj5lu0MSeo5bGa!v9aOB@-=QO<-4)C?nNoF@tzk|?|TttxssoQ'
    'aiVXP^1S0^>`xl+yAXeybcj-7W7&(gRTt)1P7r;sdC|afAuk6lZ+THpth~v-B`;czy0CK0DQj6a5`{$XQLku>=Ah)L7hUsSlo8!;c*%bbieGXu'
    '_sl`Z9M>UQh(cmxRG|KK&W*d!N7TRQ!R)LTb3{#ox~OnrlezQ~`I#b?Kcr4s*3NjDyOZ{-Ui7@;#qcI|%Dx)bYhx~SPjT%@FFJ^JqKlY*i6yZ*'
    'LEcy<Sk@7nFM6>?^b@T_%Q$&^fzM;48>h}5a$%k2=JV7E%a!LS!zlIJ=0exAoXdJE+Zx}e|BiT3OpH83{#kac`>-;^b%|)53nPOZ7bE?rsM~ja'
    '*nE=uU-Myth;naia$l(a6}FGQ;=$%9{fN(-zh)b;(NEr4w%_DJ6Xy^1aSgWBJkB+Gy;v-Dp_yed+v|I1w^jPjqkQh>`j60OIyt|PdVZL;U*VqY'
    ';B%C6JVc*(n`^ObYNt#OdPRKQqP<;6tTE$zfckoiIm!LhBhkX=(H1ZAiSqlr$Ya^gvXY1rBTE(<*w)rW{_f%UCCb<6MG>+7hJ~hk>0@_!G5b36'
    'eWJ3S^Xtezu}VbW<X&glafEgtCTiI?>_!Xs<m!tS@^ANIK5k*TiuNJuiH@h4E8R-_6EiWc|Ad9fo9PF{<~;p_<vhy;Vz`X9Boa4rJ~2{C8@}N~'
    '?G0>eBi#}&1|MMV%(DGu?v=wVneP`8E6mUGXMOZZA1VvIsIFypO2nBN*Ac_ldd0}KT(f|@a7^MF%FS}|Rh|vZ<)VjZhdi~{y_lTl-absdCOlZZ'
    'j&z6;*2gzJw7(B+A9zqpR1&=j=3DP`FAy{99{M+FzRO(eT@TucjhE;TE9&mYgOUmAn`JQ(U-n>-S!dZ>q&rU8-}GQ&(SxyLobv+DnMr2JFEMvy'
    'y_0)wea?dw=7uqriCGU8h`wi;KQgoKdd-98VG}hh`)+Yz{CVnZ#)IgqoD=7{HSIwi&!gU$$+MmOa{o>e<u7|sN=!9)5POb(KH)*pOCHR#?BV&}'
    '&$5qbC8l`>baa}SW4S)=!O{yJOpcL0>%A<Oo+qui2UUD-;d3)lLQFDWU1hdk$E<&Sg!XyXgGHi|=&LYMI^sdzJ?v*+HIZmwPFlyDmG#&V*Cwio'
    'DpfvBK8UfW*goh%{s8H)Ue9v*Ne@Pbc{ar;H&MoVte<NT-OO{R`e-|%;Ws>wSk~N>gRVm+hN9Hl)6@|$^$7LQMZP;}gLba-j>PDLT!UD9fO58y'
    '26N&jz8`Dur;dp67TTlFjq-av7{14&?^ov4olrf`%sQ?|EIq|sm*v#$w8L#4F<H&N3hIfN>yU_*(pP$UCfz`PYn7;cj6Qjo^6{*%FY;jKh(uQn'
    '^XEtT&LrBeWm^TGyXiOO%+(8MGopp4V2<5;i2m8dcUT@}k9tr@lwC#I57T!y1eQ0lQL&bdns>61c#!W!V&v^??jM0R)~j9<D0)Sp;AMgK#cV{|'
    '_%1z`jdr4us33}nzJ+XbJ;V6q)l4zCpV7%H`;2FPbspY=@!zAY^lt'
)


@lru_cache(maxsize=1)
def _runs() -> tuple[list[int], list[int]]:
    """Where each run of characters begins, and its code: 0 a break, 1 dropped, else 2 + zigzag(shift)."""
    starts: list[int] = []
    codes: list[int] = []
    position = value = shift = 0
    numbers: list[int] = []
    for byte in zlib.decompress(base64.b85decode("".join(_PACKED))):
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(value)
            value = shift = 0
    for gap, code in zip(numbers[::2], numbers[1::2], strict=True):
        position += gap
        starts.append(position)
        codes.append(code)
    return starts, codes


def folded(code_point: int) -> str:
    """The character in lower case without accents, `""` for a mark that is dropped, `" "` for what is not a word."""
    starts, codes = _runs()
    code = codes[bisect.bisect_right(starts, code_point) - 1]
    if code < 2:
        return "" if code else " "
    shift = (code - 2) >> 1
    return chr(code_point - shift - 1 if code & 1 else code_point + shift)
